import classes from './TableSkeleton.module.css';

const LINES = Array.from({ length: 24 }, (_, line) => line);
const CELLS = [0, 1, 2, 3, 4];

/** The outline of a table while it is loaded: tabs, tools, header and rows where they will be, so that nothing jumps. */
export function TableSkeleton() {
  return (
    <div role="status" aria-label="Loading the table" className={classes.page}>
      <div className={classes.tabs} />
      <div className={classes.tools} />
      <div className={classes.header} />
      {LINES.map((line) => (
        <div key={line} className={classes.line}>
          {CELLS.map((cell) => (
            <span key={cell} style={{ width: 70 + ((line * 37 + cell * 61) % 80) }} />
          ))}
        </div>
      ))}
    </div>
  );
}
