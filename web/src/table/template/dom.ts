import type { Column } from '../../api/types';
import { referenceLabel, tokenize } from './tokens';

/** Zero-width space that gives the caret a position after a chip. It is not part of the text. */
const ANCHOR = '\u200b';

/** Draws a template: text nodes, and a chip for each reference. */
export function renderTokens(field: HTMLElement, template: string, columns: readonly Column[], chipClass: string): void {
  field.replaceChildren(
    ...tokenize(template).map((token) =>
      'text' in token
        ? document.createTextNode(token.text)
        : chip(token.reference, referenceLabel(token.reference, columns), chipClass),
    ),
  );
  leaveRoom(field);
}

/** Puts an anchor after a chip at the very end, because the caret could not go there otherwise. */
export function leaveRoom(field: HTMLElement): void {
  // Browsers leave empty text nodes behind after a deletion.
  while (field.lastChild instanceof Text && field.lastChild.data === '') field.lastChild.remove();
  if (isChip(field.lastChild)) field.append(ANCHOR);
}

/** Removes the anchor before the caret, so that Backspace deletes the chip before it. */
export function dropAnchor(field: HTMLElement): void {
  const caret = caretIn(field);
  if (caret?.offset !== 1 || !caret.node.data.startsWith(ANCHOR) || !isChip(caret.node.previousSibling)) return;
  caret.node.deleteData(0, 1);
}

/** The template text of a field. */
export function serialize(field: Node): string {
  let text = '';
  for (const node of field.childNodes) {
    if (isChip(node)) text += `@{${node.dataset.reference}}`;
    else if (node.nodeName === 'BR') text += node.nextSibling || text === '' ? '\n' : '';
    else if (node.nodeType === Node.TEXT_NODE) text += node.textContent ?? '';
    else text += (text && !text.endsWith('\n') ? '\n' : '') + serialize(node);
  }
  return text.replaceAll('\u00a0', ' ').replaceAll(ANCHOR, '');
}

export interface WordAtCaret {
  text: string;
  rect: DOMRect;
}

/** The text between `@` and the caret. */
export function wordBeforeCaret(field: HTMLElement): WordAtCaret | undefined {
  const caret = caretIn(field);
  if (!caret) return undefined;
  const before = (caret.node.textContent ?? '').slice(0, caret.offset);
  const match = /@([^@{}\n]{0,40})$/.exec(before);
  if (!match) return undefined;
  const range = document.createRange();
  range.setStart(caret.node, match.index);
  range.setEnd(caret.node, caret.offset);
  return { text: match[1] ?? '', rect: range.getBoundingClientRect() };
}

/** Replaces `@` and the text after it by a chip. Adds no space: whoever types knows whether there is one. */
export function insertChip(
  field: HTMLElement,
  { reference, label, chipClass }: { reference: string; label: string; chipClass: string },
): void {
  const caret = caretIn(field);
  if (!caret) return;
  const before = (caret.node.textContent ?? '').slice(0, caret.offset);
  const start = before.lastIndexOf('@');
  const range = document.createRange();
  range.setStart(caret.node, Math.max(0, start));
  range.setEnd(caret.node, caret.offset);
  range.deleteContents();
  const room = document.createTextNode(ANCHOR);
  range.insertNode(room);
  range.insertNode(chip(reference, label, chipClass));
  const selection = window.getSelection();
  selection?.collapse(room, 1);
}

function caretIn(field: HTMLElement): { node: Text; offset: number } | undefined {
  const selection = window.getSelection();
  const node = selection?.anchorNode;
  if (!selection?.isCollapsed || !(node instanceof Text) || !field.contains(node)) return undefined;
  return { node, offset: selection.anchorOffset };
}

function isChip(node: Node | null): node is HTMLElement {
  return node instanceof HTMLElement && node.dataset.reference !== undefined;
}

function chip(reference: string, label: string | undefined, chipClass: string): HTMLElement {
  const element = document.createElement('span');
  element.className = chipClass;
  element.contentEditable = 'false';
  element.dataset.reference = reference;
  element.dataset.unknown = label === undefined ? 'true' : 'false';
  element.textContent = label ?? reference;
  return element;
}
