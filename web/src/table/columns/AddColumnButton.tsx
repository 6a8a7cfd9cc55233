import { Icon } from '../../ui/Icon';
import classes from './Columns.module.css';

/** Adds a column. Without room it shows only its icon, so that it hides little of the last header. */
export function AddColumnButton({ hasRoom, onClick }: { hasRoom: boolean; onClick: () => void }) {
  return (
    <button type="button" className={classes.addColumn} aria-label="Add column" title={hasRoom ? undefined : 'Add column'} onClick={onClick}>
      <Icon name="plus" size={16} />
      {hasRoom && 'Add column'}
    </button>
  );
}
