import { type NotificationData, notifications } from '@mantine/notifications';

/** The message that the next one replaces. Those that must be closed by hand stay. */
let current: string | undefined;

/** Shows a message. There is one at a time: a new message replaces the one before. */
export function showToast(toast: NotificationData): string {
  hideToast();
  const id = notifications.show({ withBorder: true, ...toast });
  if (toast.autoClose !== false) current = id;
  return id;
}

/** Hides the message that is shown, or this one if it is still shown. */
export function hideToast(id?: string): void {
  if (id !== undefined) notifications.hide(id);
  else if (current !== undefined) notifications.hide(current);
  if (id === undefined || id === current) current = undefined;
}
