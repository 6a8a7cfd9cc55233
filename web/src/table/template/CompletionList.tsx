import { Paper } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import { columnIcon } from '../model/columnIcon';
import type { Choice } from './choices';
import classes from './Template.module.css';
import type { Completion } from './useCompletion';

interface Props {
  /** Prefix of the ids that the text field refers to. */
  id: string;
  completion: Completion;
  /** Height of the label above the field, which the list must clear. */
  labelHeight: number;
  onChoose: (choice: Choice) => void;
}

/** Autocomplete list of columns and secrets below the caret. */
export function CompletionList({ id, completion, labelHeight, onChoose }: Props) {
  return (
    <Paper
      id={`${id}-list`}
      className={classes.list}
      shadow="md"
      withBorder
      role="listbox"
      aria-label="Columns to refer to"
      style={{ left: Math.max(0, completion.left), top: completion.top + labelHeight }}
    >
      {completion.choices.map((choice, index) => (
        <div
          key={choice.reference}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === completion.active}
          className={classes.option}
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(choice);
          }}
        >
          <Icon name={choice.column ? columnIcon(choice.column) : 'lock'} size={15} />
          <span>{choice.label}</span>
        </div>
      ))}
    </Paper>
  );
}
