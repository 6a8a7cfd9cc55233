import { notifications } from '@mantine/notifications';
import { useEffect } from 'react';

const NOTE = 'running';

/** Notification that a run has started. */
export function notifyRunning(message: string): void {
  notifications.hide(NOTE);
  notifications.show({ id: NOTE, message, color: 'mill', autoClose: 4000, withBorder: true });
}

/** Hides the notification when the run ends. */
export function useRunningNotification(isRunning: boolean): void {
  useEffect(() => {
    if (isRunning) return () => void notifications.hide(NOTE);
    return undefined;
  }, [isRunning]);
}
