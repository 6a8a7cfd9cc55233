import { type KeyboardEvent, useLayoutEffect, useRef } from 'react';
import type { Format, Json } from '../../api/types';
import { readValue } from '../formats/reading';
import classes from './Grid.module.css';
import { type EditorProps, formatIn, typedEditing } from './typedEditing';

/** Picks a date, or a date and time. */
export function DateEditor(props: EditorProps) {
  const format = formatIn(props, 'date');
  const before = isoIn(props.value.data.cell.value, format);
  const latest = useRef<string>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const { change, finish, cancel } = typedEditing(props);
  const hasTime = format.type === 'dateTime';
  const end = (move: readonly [-1 | 0 | 1, -1 | 0 | 1]) => (latest.current === undefined ? cancel() : finish(latest.current, move));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') end([0, 1]);
    else if (event.key === 'Escape') cancel();
    else if (event.key === 'Tab' && !hasTime) end([event.shiftKey ? -1 : 1, 0]);
    else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <input
      className={classes.dateField}
      type={hasTime ? 'datetime-local' : 'date'}
      aria-label="Edit cell"
      ref={field}
      defaultValue={hasTime ? localOf(before) : before.slice(0, 10)}
      onChange={(event) => {
        latest.current = hasTime ? momentOf(event.currentTarget.value, before) : event.currentTarget.value;
        change(latest.current);
      }}
      onKeyDown={onKeyDown}
    />
  );
}

function isoIn(value: Json, format: Format): string {
  const reading = readValue(value, format);
  return reading.kind === 'fits' ? String(reading.value) : '';
}

const HAS_ZONE = /(z|[+-]\d{2}:?\d{2}?)$/i;

/** A moment in the reader's time, as the field takes it. */
function localOf(iso: string): string {
  if (iso.length <= 10) return iso && `${iso}T00:00`;
  if (!HAS_ZONE.test(iso.slice(10))) return iso.slice(0, 16).replace(' ', 'T');
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What the field says, as it is stored: a moment in UTC, unless the value before named no time zone. */
function momentOf(local: string, before: string): string {
  if (local === '' || (before.length > 10 && !HAS_ZONE.test(before.slice(10)))) return local;
  const moment = new Date(local);
  return Number.isNaN(moment.getTime()) ? local : moment.toISOString().replace('.000Z', 'Z');
}
