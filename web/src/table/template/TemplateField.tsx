import { Input, Paper, Text } from '@mantine/core';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import type { Column } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { columnIcon } from '../model/columnIcon';
import { type Choice, choicesFor } from './choices';
import { dropAnchor, insertChip, leaveRoom, renderTokens, serialize, wordBeforeCaret } from './dom';
import classes from './Template.module.css';

interface Props {
  label: string;
  description?: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
  columns: readonly Column[];
  /** Names of the team's secrets, where a template may use them. */
  secrets?: readonly string[];
  isSingleLine?: boolean;
  rows?: number;
  error?: string;
  /** The label is read out but not shown. */
  isLabelHidden?: boolean;
}

interface Completion {
  choices: Choice[];
  active: number;
  left: number;
  top: number;
}

/** A text with references to columns, which are shown as chips and chosen by typing `@`. */
export function TemplateField(props: Props) {
  const { label, value, onChange, columns, secrets = [], isSingleLine = false, rows = 1 } = props;
  const id = useId();
  const field = useRef<HTMLDivElement>(null);
  const shown = useRef<string>(undefined);
  const [completion, setCompletion] = useState<Completion>();

  // The field is the browser's own while somebody types; it is drawn anew only when the value comes from elsewhere.
  useEffect(() => {
    if (!field.current || shown.current === value) return;
    renderTokens(field.current, value, columns, classes.chip ?? '');
    shown.current = value;
  }, [value, columns]);

  const publish = () => {
    if (!field.current) return;
    shown.current = serialize(field.current);
    onChange(shown.current);
  };

  const complete = () => {
    const word = field.current && wordBeforeCaret(field.current);
    const choices = word ? choicesFor(word.text, columns, secrets) : [];
    if (!word || !field.current || choices.length === 0) return setCompletion(undefined);
    const frame = field.current.getBoundingClientRect();
    setCompletion({ choices, active: 0, left: Math.min(word.rect.left - frame.left, frame.width - 220), top: word.rect.bottom - frame.top + 6 });
  };

  const choose = (choice: Choice) => {
    if (!field.current) return;
    insertChip(field.current, { ...choice, chipClass: classes.chip ?? '', isRunningText: !isSingleLine });
    setCompletion(undefined);
    publish();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (completion) {
      const { choices, active } = completion;
      const chosen = choices[active];
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        const step = event.key === 'ArrowDown' ? 1 : choices.length - 1;
        return setCompletion({ ...completion, active: (active + step) % choices.length });
      }
      if ((event.key === 'Enter' || event.key === 'Tab') && chosen) {
        event.preventDefault();
        return choose(chosen);
      }
      if (event.key === 'Escape') {
        event.preventDefault();
        return setCompletion(undefined);
      }
    }
    if (event.key === 'Backspace' && field.current) dropAnchor(field.current);
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (!isSingleLine) document.execCommand('insertLineBreak');
  };

  return (
    <div className={classes.frame}>
      {!props.isLabelHidden && (
        <Input.Label component="div" id={`${id}-label`} mb={4}>
          {label}
        </Input.Label>
      )}
      <div
        ref={field}
        className={classes.field}
        contentEditable
        suppressContentEditableWarning
        role="textbox"
        aria-multiline={!isSingleLine}
        aria-label={props.isLabelHidden ? label : undefined}
        aria-labelledby={props.isLabelHidden ? undefined : `${id}-label`}
        aria-autocomplete="list"
        aria-invalid={props.error ? true : undefined}
        aria-describedby={props.error ? `${id}-error` : undefined}
        aria-controls={completion ? `${id}-list` : undefined}
        aria-activedescendant={completion ? `${id}-${completion.active}` : undefined}
        data-placeholder={props.placeholder}
        data-empty={value === '' || undefined}
        data-single={isSingleLine || undefined}
        spellCheck={!isSingleLine}
        style={{ minHeight: `${rows * 1.55 + 1}em` }}
        onInput={() => {
          publish();
          complete();
        }}
        onKeyDown={onKeyDown}
        // Before the browser looks for a place for the caret.
        onMouseDown={(event) => leaveRoom(event.currentTarget)}
        onBlur={() => {
          setCompletion(undefined);
          // References typed by hand become chips, too.
          if (field.current) renderTokens(field.current, serialize(field.current), columns, classes.chip ?? '');
        }}
        onPaste={(event) => {
          event.preventDefault();
          const text = event.clipboardData.getData('text/plain');
          document.execCommand('insertText', false, isSingleLine ? text.replace(/\s+/g, ' ') : text);
        }}
      />
      {completion && (
        <Paper
          id={`${id}-list`}
          className={classes.list}
          shadow="md"
          withBorder
          role="listbox"
          aria-label="Columns to refer to"
          style={{ left: Math.max(0, completion.left), top: completion.top + (props.isLabelHidden ? 0 : 24) }}
        >
          {completion.choices.map((choice, place) => (
            <div
              key={choice.reference}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === completion.active}
              className={classes.option}
              onMouseDown={(event) => {
                event.preventDefault();
                choose(choice);
              }}
            >
              <Icon name={choice.column ? columnIcon(choice.column) : 'lock'} size={15} />
              <span>{choice.label}</span>
            </div>
          ))}
        </Paper>
      )}
      {props.error && (
        <Input.Error id={`${id}-error`} mt={4}>
          {props.error}
        </Input.Error>
      )}
      {props.description && (
        <Text size="xs" c="dimmed" mt={4}>
          {props.description}
        </Text>
      )}
    </div>
  );
}
