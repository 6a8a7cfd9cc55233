import { errorMessage } from '../api/error';
import { notifyAction } from './notifyAction';
import { showToast } from './toasts';

/** Error notification, with a retry button if `again` is given. */
export function notifyError(error: unknown, title = 'The action failed', again?: () => void): void {
  if (again) return notifyAction(errorMessage(error), 'Try again', again, { title, color: 'red', autoClose: false });
  showToast({ title, message: errorMessage(error), color: 'red', autoClose: 8000 });
}

export function notify(message: string, title?: string): void {
  showToast({ title, message, color: 'mill', autoClose: 4000 });
}

/** Lists the corrections the service made to a request. */
export function notifyFixes(fixes: readonly string[]): void {
  if (fixes.length === 0) return;
  showToast({
    title: fixes.length === 1 ? 'One correction was made' : `${fixes.length} corrections were made`,
    message: fixes.join(' '),
    color: 'blue',
    autoClose: 10_000,
  });
}
