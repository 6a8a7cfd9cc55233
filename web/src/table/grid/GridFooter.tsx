import type { GridColumn } from '@glideapps/glide-data-grid';
import { type ReactNode, useEffect, useRef } from 'react';
import classes from './Grid.module.css';

interface Props {
  columns: readonly GridColumn[];
  freezeColumns: number;
  /** The width of the row numbers. */
  markersWidth: number;
  render: (columnId: string) => ReactNode;
}

/** A row below the grid, with a cell under each column. It scrolls sideways with the columns. */
export function GridFooter({ columns, freezeColumns, markersWidth, render }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const scrolled = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const scroller = root.current?.parentElement?.querySelector('.dvn-scroller');
    const cells = scrolled.current;
    if (!scroller || !cells) return undefined;
    const follow = () => (cells.scrollLeft = scroller.scrollLeft);
    // Whoever tabs to a cell out of sight scrolls to it, and the columns come along.
    const lead = () => (scroller.scrollLeft = cells.scrollLeft);
    follow();
    scroller.addEventListener('scroll', follow, { passive: true });
    cells.addEventListener('scroll', lead, { passive: true });
    return () => {
      scroller.removeEventListener('scroll', follow);
      cells.removeEventListener('scroll', lead);
    };
  }, [columns, freezeColumns]);

  const cell = (column: GridColumn) => (
    <div key={column.id} className={classes.footerCell} style={{ width: 'width' in column ? column.width : undefined }}>
      {render(column.id ?? '')}
    </div>
  );
  return (
    <div ref={root} className={classes.footer} role="group" aria-label="Summaries">
      <div className={classes.footerFixed} style={{ paddingLeft: markersWidth }}>
        {columns.slice(0, freezeColumns).map(cell)}
      </div>
      <div ref={scrolled} className={classes.footerScrolled}>
        {columns.slice(freezeColumns).map(cell)}
        {/* As much as the grid has after its last column, so that both can scroll equally far. */}
        <div className={classes.footerEnd} />
      </div>
    </div>
  );
}
