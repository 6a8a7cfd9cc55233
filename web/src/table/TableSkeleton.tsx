import classes from './TableSkeleton.module.css';

const LINES = Array.from({ length: 24 }, (_, line) => line);

/** The outline of a table while it is loaded, so that nothing jumps when it arrives. */
export function TableSkeleton() {
  return (
    <div role="status" aria-label="Loading the table" className={classes.page}>
      <div className={classes.bar} />
      <div className={classes.bar} />
      {LINES.map((line) => (
        <div key={line} className={classes.line}>
          {[0, 1, 2, 3, 4].map((cell) => (
            <span key={cell} style={{ width: 70 + ((line * 37 + cell * 61) % 80) }} />
          ))}
        </div>
      ))}
    </div>
  );
}
