import { isRetryable, errorMessage } from '../../api/error';
import { notifyError } from '../../ui/notify';
import { showToast } from '../../ui/toasts';
import { LostTextError } from './lostText';

const TITLE = 'This was not saved';

/** Error notification for a failed save. Typed text that would be lost is shown until the user closes it. */
export function notifyNotSaved(error: unknown, again?: () => void): void {
  if (!(error instanceof LostTextError)) return notifyError(error, TITLE, isRetryable(error) ? again : undefined);
  const message = `${errorMessage(error)} Your text: “${error.text}”`;
  showToast({ title: TITLE, message, color: 'red', autoClose: false, style: { whiteSpace: 'pre-wrap' } });
}
