/**
 * The grid does not open the editor of a frozen column by a letter while the others are scrolled: it takes the cell for
 * one out of sight. F2 does open it, so the letter waits here until the editor asks for it.
 */
let waiting: { letters: string; until: number } | undefined;

/** How long an editor may take to open. */
const PATIENCE_MILLISECONDS = 1_000;

/** Opens the editor of the selected cell as if the letter had done it. */
export function openByLetter(letter: string, target: EventTarget | null): void {
  const now = performance.now();
  if (waiting && now < waiting.until) {
    // The editor is on its way, and the next letter is already here.
    waiting.letters += letter;
    return;
  }
  waiting = { letters: letter, until: now + PATIENCE_MILLISECONDS };
  target?.dispatchEvent(new KeyboardEvent('keydown', { key: 'F2', code: 'F2', keyCode: 113, bubbles: true, cancelable: true }));
}

/** What was typed to open this editor, if it was opened so. */
export function takeFirstLetters(): string | undefined {
  const taken = waiting && performance.now() < waiting.until ? waiting.letters : undefined;
  waiting = undefined;
  return taken;
}

/** Whether a key writes something. */
export function isLetter({ key, ctrlKey, metaKey }: { key: string; ctrlKey: boolean; metaKey: boolean }): boolean {
  return !ctrlKey && !metaKey && key.length === 1 && /[\p{L}\p{M}\p{N}\p{S}\p{P}]/u.test(key);
}
