import type { ProvideEditorComponent } from '@glideapps/glide-data-grid';
import { type ClipboardEvent, type FocusEvent, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import { isJson, toPretty } from '../model/values';
import { isBlock } from '../rows/pasteBlock';
import { parseTsv } from '../rows/tsv';
import type { RowmillCell } from './cellContent';
import { takeFirstLetters } from './firstLetter';
import classes from './Grid.module.css';

/** How long after a click the grid may still ask for the focus. */
const LATE_FOCUS_MILLISECONDS = 300;

/** The editor over a cell: grows with its text, and shows JSON spread out. */
export const CellEditor: ProvideEditorComponent<RowmillCell> = (props) => {
  const { value: content, onChange, onFinishedEditing, target } = props;
  const [initialValue] = useState(() => props.initialValue ?? takeFirstLetters());
  const { data, readonly: isReadOnly } = content;
  const field = useRef<HTMLTextAreaElement>(null);
  const start = initialValue ?? toPretty(data.cell.value);
  // What is typed over JSON is a line like any other.
  const isStructured = isJson(data.cell.value) && initialValue === undefined;

  const [isUntouched, setIsUntouched] = useState(initialValue === undefined);
  const latest = useRef<RowmillCell>(undefined);
  const take = (text: string) => {
    setIsUntouched(false);
    latest.current = { ...content, data: { ...data, text, ...(data.rowId && { typedInto: data.rowId }) } };
    onChange(latest.current);
  };

  const opened = useRef({ at: performance.now(), isEnding: false });
  /** The grid asks for the focus a little after a click: too late, where the second click has opened this. */
  const onBlur = ({ currentTarget, relatedTarget }: FocusEvent<HTMLTextAreaElement>) => {
    const { at, isEnding } = opened.current;
    const isLate = relatedTarget instanceof HTMLCanvasElement && performance.now() - at < LATE_FOCUS_MILLISECONDS;
    if (isLate && !isEnding) currentTarget.focus();
  };

  // Before anything else happens: the next letter must find the field, not the grid.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
    grow(element);
    if (initialValue !== undefined) take(initialValue);
    // Only as it opens: later changes come from the field itself.
  }, []);

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Escape') opened.current.isEnding = true;
    const isEnd = event.key === 'Tab' || (event.key === 'Enter' && !isBreak(event));
    if (event.key === 'Enter' && event.altKey) insertBreak(event.currentTarget);
    if (event.key === 'Enter' || event.key === 'Tab') event.stopPropagation();
    if (!isEnd) return;
    // Ended here and not by the grid, which drops the value when the letter before came in the same instant.
    event.preventDefault();
    opened.current.isEnding = true;
    onFinishedEditing(latest.current, event.key === 'Enter' ? [0, 1] : [event.shiftKey ? -1 : 1, 0]);
  };
  const isBreak = ({ shiftKey, altKey, ctrlKey, metaKey }: KeyboardEvent) =>
    shiftKey || altKey || (isStructured && !isReadOnly && !ctrlKey && !metaKey);

  /** Several cells are meant for the grid, which takes them as soon as nobody edits any more. */
  const onPaste = (event: ClipboardEvent) => {
    if (!isUntouched || !isBlock(parseTsv(event.clipboardData.getData('text/plain')))) return;
    opened.current.isEnding = true;
    onFinishedEditing(undefined, [0, 0]);
  };

  return (
    <div className={classes.editor} style={{ minWidth: Math.max(target.width, start.length > 60 ? 380 : 0) }}>
      <textarea
        ref={field}
        className={classes.field}
        data-structured={isStructured || undefined}
        style={{ minHeight: target.height - 2 }}
        aria-label={isReadOnly ? 'Cell value' : 'Edit cell'}
        defaultValue={start}
        readOnly={isReadOnly}
        spellCheck={false}
        data-untouched={isUntouched || undefined}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        onBlur={onBlur}
        onChange={(event) => {
          grow(event.currentTarget);
          take(event.currentTarget.value);
        }}
      />
      {isReadOnly && (
        <button type="button" className={classes.editorNote} onClick={() => onFinishedEditing(undefined)}>
          Comes from another column: edit it there
        </button>
      )}
      {!isReadOnly && isStructured && <div className={classes.editorNote}>JSON · Ctrl + Enter to save</div>}
    </div>
  );
};

function grow(element: HTMLTextAreaElement): void {
  element.style.height = 'auto';
  element.style.height = `${Math.min(element.scrollHeight + 2, 360)}px`;
}

function insertBreak(element: HTMLTextAreaElement): void {
  element.setRangeText('\n', element.selectionStart, element.selectionEnd, 'end');
  element.dispatchEvent(new Event('input', { bubbles: true }));
}
