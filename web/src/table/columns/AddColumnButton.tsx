import { Icon } from '../../ui/Icon';
import classes from './Columns.module.css';

export function AddColumnButton({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" className={classes.addColumn} onClick={onClick}>
      <Icon name="plus" size={16} />
      Add column
    </button>
  );
}
