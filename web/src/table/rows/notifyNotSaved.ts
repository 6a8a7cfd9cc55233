import { notifications } from '@mantine/notifications';
import { isRetryable, errorMessage } from '../../api/error';
import { notifyError } from '../../ui/notify';
import { LostTextError } from './lostText';

const TITLE = 'This was not saved';

/** Tells that something was not saved. Text that stands nowhere else stays to be copied until it is closed. */
export function notifyNotSaved(error: unknown, again?: () => void): void {
  if (!(error instanceof LostTextError)) return notifyError(error, TITLE, isRetryable(error) ? again : undefined);
  const message = `${errorMessage(error)} Your text: “${error.text}”`;
  notifications.show({ title: TITLE, message, color: 'red', autoClose: false, withBorder: true, style: { whiteSpace: 'pre-wrap' } });
}
