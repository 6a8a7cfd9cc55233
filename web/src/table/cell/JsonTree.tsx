import { stringifyJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { toText } from '../model/values';
import classes from './Json.module.css';
import { partsOf, type Segment, writePath } from './jsonPath';

interface Props {
  value: Json;
  chosen: string;
  onChoose: (path: string) => void;
}

/** Longer lists are cut, because a few items show their structure. */
const ITEMS_MAX = 20;

/** A value as a tree. A click on a part chooses its path. */
export function JsonTree({ value, chosen, onChoose }: Props) {
  return (
    <div className={classes.tree} role="group" aria-label="Sample value: choose a part of it">
      <Branch value={value} segments={[]} chosen={chosen} onChoose={onChoose} />
    </div>
  );
}

function Branch({ value, segments, chosen, onChoose }: Props & { segments: readonly Segment[] }) {
  const parts = partsOf(value);
  return (
    <ul style={segments.length === 0 ? { paddingLeft: 0 } : undefined}>
      {parts.slice(0, ITEMS_MAX).map(([segment, part]) => {
        const inner = [...segments, segment];
        const path = writePath(inner);
        const hasParts = partsOf(part).length > 0;
        return (
          <li key={segment}>
            <button type="button" className={classes.pick} data-chosen={path === chosen || undefined} aria-pressed={path === chosen} onClick={() => onChoose(path)}>
              {segment}
            </button>
            {hasParts ? (
              <Branch value={part} segments={inner} chosen={chosen} onChoose={onChoose} />
            ) : (
              <span className={classes.leaf}> {shorten(part)}</span>
            )}
          </li>
        );
      })}
      {parts.length > ITEMS_MAX && <li className={classes.leaf}>and {parts.length - ITEMS_MAX} more</li>}
    </ul>
  );
}

function shorten(value: Json): string {
  const text = typeof value === 'string' ? stringifyJson(value) : toText(value) || 'null';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
