import { formatNumber } from '../../ui/format';
import classes from './Groups.module.css';

interface Props {
  text: string;
  count: number;
  /** How large it is beside the largest, from 0 to 1. */
  share: number;
  total: string | undefined;
  isShown: boolean;
  /** Undefined if its rows cannot be shown, because the value is too long for a filter. */
  onClick: (() => void) | undefined;
}

/** A group: its value, how many rows have it, and their total. */
export function GroupRow({ text, count, share, total, isShown, onClick }: Props) {
  return (
    <li>
      <button type="button" className={classes.group} aria-pressed={isShown} disabled={!onClick} title={text} onClick={onClick}>
        <span className={classes.bar} style={{ width: `${share * 100}%` }} aria-hidden />
        <span className={classes.text}>{text}</span>
        <span className={classes.number}>{formatNumber(count)}</span>
        {total !== undefined && <span className={classes.total}>{total}</span>}
      </button>
    </li>
  );
}
