import { useEffect } from 'react';
import { hideToast, showToast } from '../../ui/toasts';

const NOTE = 'running';

/** Notification that a run has started. */
export function notifyRunning(message: string): void {
  hideToast(NOTE);
  showToast({ id: NOTE, message, color: 'mill', autoClose: 4000 });
}

/** Hides the notification when the run ends. */
export function useRunningNotification(isRunning: boolean): void {
  useEffect(() => {
    if (isRunning) return () => hideToast(NOTE);
    return undefined;
  }, [isRunning]);
}
