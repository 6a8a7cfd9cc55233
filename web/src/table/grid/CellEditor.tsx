import type { ProvideEditorComponent } from '@glideapps/glide-data-grid';
import { type ClipboardEvent, type FocusEvent, type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { isJson, toPretty } from '../model/values';
import { isBlock } from '../rows/pasteBlock';
import { parseTsv } from '../rows/tsv';
import type { RowmillCell } from './cellContent';
import { takeFirstLetters } from './firstLetter';
import classes from './Grid.module.css';

/** How long after a click the grid may still take the focus. */
const LATE_FOCUS_MILLISECONDS = 300;

type EditorProps = Parameters<ProvideEditorComponent<RowmillCell>>[0];

/** The editor over a cell. It grows with its text and formats JSON. */
export const CellEditor: ProvideEditorComponent<RowmillCell> = (props) => {
  const { value: content, onFinishedEditing, target } = props;
  const { readonly: isReadOnly } = content;
  const { field, start, isStructured, isUntouched, latest, take } = useCellText(props);
  const handlers = useEndOfEditing(props, { latest, isUntouched, isStructured });
  return (
    <div className={classes.editor} style={{ minWidth: Math.max(target.width, start.length > 60 ? 380 : 0) }}>
      <textarea
        {...handlers}
        ref={field}
        className={classes.field}
        data-structured={isStructured || undefined}
        style={{ minHeight: target.height - 2 }}
        aria-label={isReadOnly ? 'Cell value' : 'Edit cell'}
        defaultValue={start}
        readOnly={isReadOnly}
        spellCheck={false}
        data-untouched={isUntouched || undefined}
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

/** The text in the editor: what it starts with, and what was typed. */
function useCellText({ value: content, onChange, initialValue: givenValue }: EditorProps) {
  const [initialValue] = useState(() => givenValue ?? takeFirstLetters());
  const { data } = content;
  const field = useRef<HTMLTextAreaElement>(null);
  // Typing over a cell replaces its JSON by plain text.
  const isStructured = isJson(data.cell.value) && initialValue === undefined;
  const [isUntouched, setIsUntouched] = useState(initialValue === undefined);
  const latest = useRef<RowmillCell>(undefined);
  const take = (text: string) => {
    setIsUntouched(false);
    latest.current = { ...content, data: { ...data, text, ...(data.rowId && { typedInto: data.rowId }) } };
    onChange(latest.current);
  };

  // A layout effect, so that the next key already goes to the field and not to the grid.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
    grow(element);
    if (initialValue !== undefined) take(initialValue);
    // Only on opening: later changes come from the field itself.
  }, []);

  return { field, start: initialValue ?? toPretty(data.cell.value), isStructured, isUntouched, latest, take };
}

interface EditedText {
  latest: RefObject<RowmillCell | undefined>;
  isUntouched: boolean;
  isStructured: boolean;
}

/** Ends editing by key or paste, and keeps the focus until then. */
function useEndOfEditing({ value: content, onFinishedEditing }: EditorProps, { latest, isUntouched, isStructured }: EditedText) {
  const opened = useRef({ at: performance.now(), isEnding: false });
  const isBreak = ({ shiftKey, altKey, ctrlKey, metaKey }: KeyboardEvent) =>
    shiftKey || altKey || (isStructured && !content.readonly && !ctrlKey && !metaKey);

  return {
    onKeyDown: (event: KeyboardEvent<HTMLTextAreaElement>) => {
      if (event.key === 'Escape') opened.current.isEnding = true;
      const isEnd = event.key === 'Tab' || (event.key === 'Enter' && !isBreak(event));
      if (event.key === 'Enter' && event.altKey) insertBreak(event.currentTarget);
      if (event.key === 'Enter' || event.key === 'Tab') event.stopPropagation();
      if (!isEnd) return;
      // The grid would drop the value if the last letter came in the same instant, so editing ends here.
      event.preventDefault();
      opened.current.isEnding = true;
      onFinishedEditing(latest.current, event.key === 'Enter' ? [0, 1] : [event.shiftKey ? -1 : 1, 0]);
    },
    // A block of cells is for the grid, which takes it once the editor is closed.
    onPaste: (event: ClipboardEvent) => {
      if (!isUntouched || !isBlock(parseTsv(event.clipboardData.getData('text/plain')))) return;
      opened.current.isEnding = true;
      onFinishedEditing(undefined, [0, 0]);
    },
    // The grid takes the focus shortly after a click, even if the second click has opened this editor.
    onBlur: ({ currentTarget, relatedTarget }: FocusEvent<HTMLTextAreaElement>) => {
      const { at, isEnding } = opened.current;
      const isLate = relatedTarget instanceof HTMLCanvasElement && performance.now() - at < LATE_FOCUS_MILLISECONDS;
      if (isLate && !isEnding) currentTarget.focus();
    },
  };
}

function grow(element: HTMLTextAreaElement): void {
  element.style.height = 'auto';
  element.style.height = `${Math.min(element.scrollHeight + 2, 360)}px`;
}

function insertBreak(element: HTMLTextAreaElement): void {
  element.setRangeText('\n', element.selectionStart, element.selectionEnd, 'end');
  element.dispatchEvent(new Event('input', { bubbles: true }));
}
