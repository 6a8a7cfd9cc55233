import { notifications } from '@mantine/notifications';
import { mayPass, sentence } from '../../api/error';
import { tellError } from '../../ui/notify';
import { LostText } from './lostText';

const TITLE = 'This was not saved';

/** Tells that something was not saved. Text that stands nowhere else stays to be copied until it is closed. */
export function tellNotSaved(error: unknown, again?: () => void): void {
  if (!(error instanceof LostText)) return tellError(error, TITLE, mayPass(error) ? again : undefined);
  const message = `${sentence(error)} You had typed: “${error.text}”`;
  notifications.show({ title: TITLE, message, color: 'red', autoClose: false, withBorder: true, style: { whiteSpace: 'pre-wrap' } });
}
