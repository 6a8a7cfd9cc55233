import { type KeyboardEvent, useState } from 'react';
import { readValue } from '../formats/reading';
import { takeFirstLetters } from './firstLetter';
import classes from './Grid.module.css';
import { type EditorProps, formatIn, typedEditing } from './typedEditing';

/** Chooses a rating: by a click, by arrow keys or by its digit. */
export function RatingEditor(props: EditorProps) {
  const { value: content, initialValue } = props;
  const format = formatIn(props, 'rating');
  const max = format.max ?? 5;
  const [rating, setRating] = useState(() => {
    const reading = readValue(initialValue ?? takeFirstLetters() ?? content.data.cell.value, format);
    return reading.kind === 'fits' ? Number(reading.value) : 0;
  });
  const { change, finish, cancel } = typedEditing(props);
  const set = (next: number) => {
    const within = Math.max(0, Math.min(max, next));
    setRating(within);
    change(String(within));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') finish(String(rating));
    else if (event.key === 'Tab') finish(String(rating), [event.shiftKey ? -1 : 1, 0]);
    else if (event.key === 'Escape') cancel();
    else if (event.key === 'ArrowRight' || event.key === 'ArrowUp') set(rating + 1);
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowDown') set(rating - 1);
    else if (/^\d$/.test(event.key)) set(Number(event.key));
    else if (event.key === 'Delete' || event.key === 'Backspace') finish('');
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      className={classes.stars}
      role="slider"
      tabIndex={0}
      aria-label="Edit cell"
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={rating}
      ref={(element) => element?.focus()}
      onKeyDown={onKeyDown}
    >
      {Array.from({ length: max }, (_, place) => (
        <span key={place} data-filled={place < rating || undefined} onClick={() => finish(String(place + 1 === rating ? 0 : place + 1))}>
          ★
        </span>
      ))}
    </div>
  );
}
