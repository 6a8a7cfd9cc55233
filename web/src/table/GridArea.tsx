import { type ComponentProps, lazy, Suspense } from 'react';
import type { Finder } from './find/useFinder';
import type { Selection } from './grid/selection';
import classes from './Table.module.css';
import { TableGrid } from './TableGrid';

const FindBar = lazy(() => import('./find/FindBar'));

const SETTLE_MILLISECONDS = 100;

interface Props extends ComponentProps<typeof TableGrid> {
  finder: Finder;
}

/** The grid, with the bar that finds text over it. */
export function GridArea({ finder, ...props }: Props) {
  const reach = (selection: Selection) => {
    props.table.setSelection(selection);
    const { cell } = selection;
    // The grid scrolls to a selected cell by itself, by as much as it is away. Before that is done, it would scroll twice as far.
    if (cell) setTimeout(() => props.grid.current?.showCell(cell.columnId, cell.rowIndex), SETTLE_MILLISECONDS);
  };
  const close = () => {
    finder.close();
    props.grid.current?.focus();
  };
  return (
    <div className={classes.gridArea}>
      <TableGrid {...props} />
      <Suspense>{finder.isOpen && <FindBar table={props.table} onSelect={reach} onClose={close} />}</Suspense>
    </div>
  );
}
