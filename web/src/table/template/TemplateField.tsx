import { Input, Text } from '@mantine/core';
import { useId } from 'react';
import type { Column } from '../../api/types';
import { CompletionList } from './CompletionList';
import { leaveRoom } from './dom';
import classes from './Template.module.css';
import { useTemplateEditor } from './useTemplateEditor';

const LABEL_HEIGHT = 24;

interface Props {
  label: string;
  description?: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
  columns: readonly Column[];
  /** Names of the team's secrets, if the template may use them. */
  secrets?: readonly string[];
  isSingleLine?: boolean;
  rows?: number;
  error?: string;
  /** Screen readers still read the label. */
  isLabelHidden?: boolean;
}

/** Text field with references to columns. Typing `@` offers them; the field shows them as chips. */
export function TemplateField(props: Props) {
  const { label, value, onChange, columns, secrets = [], isSingleLine = false, rows = 1, isLabelHidden = false } = props;
  const id = useId();
  const { field, completion, handlers } = useTemplateEditor({ value, onChange, columns, secrets, isSingleLine });
  const { completion: offered } = completion;

  return (
    <div className={classes.frame}>
      {!isLabelHidden && (
        <Input.Label component="div" id={`${id}-label`} mb={4}>
          {label}
        </Input.Label>
      )}
      <div
        {...handlers}
        ref={field}
        className={classes.field}
        contentEditable
        suppressContentEditableWarning
        role="textbox"
        aria-multiline={!isSingleLine}
        aria-label={isLabelHidden ? label : undefined}
        aria-labelledby={isLabelHidden ? undefined : `${id}-label`}
        aria-autocomplete="list"
        aria-invalid={props.error ? true : undefined}
        aria-describedby={props.error ? `${id}-error` : undefined}
        aria-controls={offered ? `${id}-list` : undefined}
        aria-activedescendant={offered ? `${id}-${offered.active}` : undefined}
        data-placeholder={props.placeholder}
        data-empty={value === '' || undefined}
        data-single={isSingleLine || undefined}
        spellCheck={!isSingleLine}
        style={{ minHeight: `${rows * 1.55 + 1}em` }}
        // On mouse down, because afterwards the browser has already placed the caret.
        onMouseDown={(event) => leaveRoom(event.currentTarget)}
      />
      {offered && (
        <CompletionList id={id} completion={offered} labelHeight={isLabelHidden ? 0 : LABEL_HEIGHT} onChoose={completion.choose} />
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
