import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react';
import { stringifyJson } from '../../api/exactNumber';
import type { Format, Json } from '../../api/types';
import { chipOf } from '../display/typedDisplay';
import { readValue } from '../formats/reading';
import { toText } from '../model/values';
import { ChipLabel } from './ChipLabel';
import { takeFirstLetters } from './firstLetter';
import classes from './Grid.module.css';
import { type EditorProps, formatIn, typedEditing } from './typedEditing';

interface Choice {
  value: string;
  label: string;
}

const YES_OR_NO: Choice[] = [
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
];

/** Chooses options of a select, or yes or no. What is typed filters the options; a text that is none of them is kept, too. */
export function ChoiceEditor(props: EditorProps) {
  const { value: content, initialValue } = props;
  const format = formatIn(props, 'select');
  const [typed, setTyped] = useState(() => initialValue ?? takeFirstLetters() ?? '');
  const [chosen, setChosen] = useState(() => chosenIn(content.data.cell.value, format));
  const { change, finish, cancel } = typedEditing(props);
  const isMultiple = format.type === 'multiSelect';
  const choices = format.type === 'checkbox' ? YES_OR_NO : (format.options ?? []).map(({ value }) => ({ value, label: value }));
  // Enter without a choice leaves the cell as it is.
  const [active, setActive] = useState(() => (typed ? 0 : choices.findIndex(({ value }) => value === chosen[0])));
  const listId = useId();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(typed.length, typed.length);
    // Only on opening.
  }, []);
  const shown = choices.filter(({ label }) => label.toLowerCase().includes(typed.trim().toLowerCase()));
  const current = shown[Math.min(active, shown.length - 1)];

  const choose = ({ value }: Choice) => {
    if (!isMultiple) return finish(value);
    const next = chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];
    setChosen(next);
    setTyped('');
    change(listText(next));
  };
  const clear = !isMultiple && content.data.text !== '' ? () => finish('') : undefined;
  /** What was typed, or else what is there. */
  const end = (move: readonly [-1 | 0 | 1, -1 | 0 | 1]) => finish(isMultiple ? listText(chosen) : typed.trim() || listText(chosen), move);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Tab') end([event.shiftKey ? -1 : 1, 0]);
    else if (event.key === 'Escape') cancel();
    else if (event.key === 'ArrowDown') setActive(Math.min(active + 1, shown.length - 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(active - 1, 0));
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) end([0, 1]);
    else if (event.key === 'Enter' && current) choose(current);
    else if (event.key === 'Enter') end([0, 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className={classes.choices}>
      <input
        className={classes.choiceField}
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={current && `${listId}-${current.value}`}
        aria-label="Edit cell"
        ref={field}
        value={typed}
        placeholder={choices.length > 0 ? 'Find an option' : 'This column has no options yet'}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
          if (!isMultiple) change(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      <ChoiceList {...{ listId, shown, chosen, current, format }} onChoose={choose} onClear={clear} />
      {isMultiple && <div className={classes.editorNote}>Ctrl + Enter or Tab to finish</div>}
    </div>
  );
}

interface ListProps {
  listId: string;
  shown: readonly Choice[];
  chosen: readonly string[];
  /** The one that Enter chooses. */
  current: Choice | undefined;
  format: Format;
  onChoose: (choice: Choice) => void;
  /** Undefined if there is nothing to clear. */
  onClear: (() => void) | undefined;
}

function ChoiceList({ listId, shown, chosen, current, format, onChoose, onClear }: ListProps) {
  return (
    <div id={listId} role="listbox" aria-label="Options" aria-multiselectable={format.type === 'multiSelect'} className={classes.choiceList}>
      {shown.map((choice) => (
        <div
          key={choice.value}
          id={`${listId}-${choice.value}`}
          role="option"
          aria-selected={chosen.includes(choice.value)}
          data-active={choice === current || undefined}
          className={classes.choice}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(choice)}
        >
          {format.type === 'checkbox' ? choice.label : <ChipLabel chip={chipOf(choice.value, format)} />}
          {chosen.includes(choice.value) && <span aria-hidden>✓</span>}
        </div>
      ))}
      {onClear && (
        <div role="option" aria-selected={false} className={classes.choice} onMouseDown={(event) => event.preventDefault()} onClick={onClear}>
          Clear
        </div>
      )}
    </div>
  );
}

function chosenIn(value: Json, format: Format): string[] {
  const reading = readValue(value, format);
  if (reading.kind !== 'fits') return [];
  return Array.isArray(reading.value) ? reading.value.map(String) : [toText(reading.value)];
}

/** Several options as JSON, so that options may contain commas. */
function listText(chosen: readonly string[]): string {
  return chosen.length === 0 ? '' : chosen.length === 1 ? (chosen[0] ?? '') : stringifyJson(chosen);
}
