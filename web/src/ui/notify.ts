import { notifications } from '@mantine/notifications';
import { errorMessage } from '../api/error';
import { notifyAction } from './notifyAction';

/** Error notification, with a retry button if `again` is given. */
export function notifyError(error: unknown, title = 'The action failed', again?: () => void): void {
  if (again) return notifyAction(errorMessage(error), 'Try again', again, { title, color: 'red', autoClose: false });
  notifications.show({ title, message: errorMessage(error), color: 'red', autoClose: 8000, withBorder: true });
}

export function notify(message: string, title?: string): void {
  notifications.show({ title, message, color: 'mill', autoClose: 4000, withBorder: true });
}

/** Lists the corrections the service made to a request. */
export function notifyFixes(fixes: readonly string[]): void {
  if (fixes.length === 0) return;
  notifications.show({
    title: fixes.length === 1 ? 'One correction was made' : `${fixes.length} corrections were made`,
    message: fixes.join(' '),
    color: 'blue',
    autoClose: 10_000,
    withBorder: true,
  });
}
