import { copyText } from '../../ui/copyText';
import { notify } from '../../ui/notify';
import type { Display } from '../display/display';

/** Opens the link of a cell, or copies its e-mail address. */
export function actOn(display: Display): void {
  if (display.kind === 'link') window.open(display.url, '_blank', 'noopener,noreferrer');
  if (display.kind !== 'email') return;
  copyText(display.text).then(
    () => notify(`${display.text} copied.`),
    () => notify(display.text, 'Copy this address'),
  );
}
