/**
 * Workaround: while columns are scrolled, the grid does not open the editor of a frozen column on a letter, because it
 * thinks the cell is out of sight. F2 does open it, so the letter waits here until the editor takes it.
 */
let waiting: { letters: string; until: number } | undefined;

/** How long an editor may take to open. */
const PATIENCE_MILLISECONDS = 1_000;

/** Opens the editor of the selected cell, with the letter as its text. */
export function openByLetter(letter: string, target: EventTarget | null): void {
  const now = performance.now();
  if (waiting && now < waiting.until) {
    // The editor is not open yet, and this is the next letter.
    waiting.letters += letter;
    return;
  }
  waiting = { letters: letter, until: now + PATIENCE_MILLISECONDS };
  target?.dispatchEvent(new KeyboardEvent('keydown', { key: 'F2', code: 'F2', keyCode: 113, bubbles: true, cancelable: true }));
}

/** The letters that opened this editor, if any. */
export function takeFirstLetters(): string | undefined {
  const taken = waiting && performance.now() < waiting.until ? waiting.letters : undefined;
  waiting = undefined;
  return taken;
}

/** Whether a key types a character. */
export function isLetter({ key, ctrlKey, metaKey }: { key: string; ctrlKey: boolean; metaKey: boolean }): boolean {
  return !ctrlKey && !metaKey && key.length === 1 && /[\p{L}\p{M}\p{N}\p{S}\p{P}]/u.test(key);
}
