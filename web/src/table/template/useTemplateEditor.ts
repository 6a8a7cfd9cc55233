import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef } from 'react';
import type { Column } from '../../api/types';
import type { Choice } from './choices';
import { dropAnchor, insertChip, renderTokens, serialize } from './dom';
import classes from './Template.module.css';
import { useCompletion } from './useCompletion';

interface Options {
  value: string;
  onChange: (value: string) => void;
  columns: readonly Column[];
  secrets: readonly string[];
  isSingleLine: boolean;
}

const CHIP_CLASS = classes.chip ?? '';

/** Editing of a template in a `contentEditable` element: typing, completion, line breaks, paste. */
export function useTemplateEditor({ value, onChange, columns, secrets, isSingleLine }: Options) {
  const field = useRef<HTMLDivElement>(null);
  const shown = useRef<string>(undefined);

  // Redrawing moves the caret, so the field is redrawn only when the value comes from elsewhere.
  useEffect(() => {
    if (!field.current || shown.current === value) return;
    renderTokens(field.current, value, columns, CHIP_CLASS);
    shown.current = value;
  }, [value, columns]);

  const publish = () => {
    if (!field.current) return;
    shown.current = serialize(field.current);
    onChange(shown.current);
  };
  const insertChoice = (choice: Choice) => {
    if (!field.current) return;
    insertChip(field.current, { ...choice, chipClass: CHIP_CLASS });
    publish();
  };
  const completion = useCompletion(field, { columns, secrets, onChoose: insertChoice });

  const handlers = {
    onInput: () => {
      publish();
      completion.update();
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (completion.handleKey(event)) return;
      if (event.key === 'Backspace' && field.current) dropAnchor(field.current);
      if (event.key !== 'Enter') return;
      event.preventDefault();
      if (!isSingleLine) document.execCommand('insertLineBreak');
    },
    onBlur: () => {
      completion.close();
      // Turns references that were typed in full into chips.
      if (field.current) renderTokens(field.current, serialize(field.current), columns, CHIP_CLASS);
    },
    onPaste: (event: ClipboardEvent) => {
      event.preventDefault();
      const text = event.clipboardData.getData('text/plain');
      document.execCommand('insertText', false, isSingleLine ? text.replace(/\s+/g, ' ') : text);
    },
  };
  return { field, completion, handlers };
}
