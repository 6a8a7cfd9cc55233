import { notifications } from '@mantine/notifications';
import { useEffect } from 'react';

const NOTE = 'running';

/** Says that a run has begun, until it has ended. */
export function notifyRunning(message: string): void {
  notifications.hide(NOTE);
  notifications.show({ id: NOTE, message, color: 'mill', autoClose: 4000, withBorder: true });
}

/** A run that has ended is not said to be running. */
export function useRunningNotification(isRunning: boolean): void {
  useEffect(() => {
    if (isRunning) return () => void notifications.hide(NOTE);
    return undefined;
  }, [isRunning]);
}
