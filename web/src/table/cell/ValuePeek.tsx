import { Text } from '@mantine/core';
import { parseJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { displayOf, drawnLine } from '../display/display';
import { fieldLabel } from '../display/summary';
import { isJson } from '../model/values';
import { partsOf } from './jsonPath';
import classes from './Peek.module.css';

/** Longer texts and lists are cut: the panel shows all of it. */
const LETTERS_MAX = 900;
const PARTS_MAX = 10;
const PART_LETTERS_MAX = 160;

/** A long text or an object, as far as a tooltip has room. */
export function ValuePeek({ value }: { value: Json }) {
  const whole = objectIn(value);
  if (whole === undefined) {
    const text = String(value ?? '');
    return (
      <Text size="sm" className={classes.text}>
        {text.length > LETTERS_MAX ? `${text.slice(0, LETTERS_MAX)}…` : text}
      </Text>
    );
  }
  const parts = partsOf(whole);
  return (
    <>
      <dl className={classes.fields}>
        {parts.slice(0, PARTS_MAX).map(([segment, part]) => (
          <div key={segment}>
            <dt>{typeof segment === 'number' ? segment + 1 : fieldLabel(segment)}</dt>
            <dd>{partText(part)}</dd>
          </div>
        ))}
      </dl>
      <Text size="xs" c="dimmed" mt={6}>
        {parts.length > PARTS_MAX && `${parts.length - PARTS_MAX} more. `}
        Space opens the details.
      </Text>
    </>
  );
}

/** Whether a cell of this width and number of lines cannot show the whole value. */
export function needsPeek(value: Json | undefined, width: number, lines: number): boolean {
  const display = displayOf(value);
  const lettersShown = ((width - 20) / 6.6) * lines;
  if (display.kind === 'fields') return display.title !== '' || display.details.length > lettersShown;
  if (display.kind === 'chips') return display.text.length + display.chips.length * 3 > lettersShown;
  const line = drawnLine(display);
  return line.length > lettersShown || line.trim().split('\n').length > lines;
}

function objectIn(value: Json): Json | undefined {
  if (isJson(value)) return value;
  const { kind } = displayOf(value);
  return typeof value === 'string' && (kind === 'fields' || kind === 'chips') ? (parseJson(value) as Json) : undefined;
}

function partText(part: Json): string {
  const text = typeof part === 'string' ? part : part === null ? 'empty' : displayOf(part).text;
  return text.length > PART_LETTERS_MAX ? `${text.slice(0, PART_LETTERS_MAX)}…` : text || 'empty';
}
