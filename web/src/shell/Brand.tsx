import classes from './Shell.module.css';

/** The mark and the name; on narrow screens beside a trail only the mark. */
export function Brand({ compact = false }: { compact?: boolean }) {
  return (
    <span className={classes.brand}>
      <img src="./rowmill.svg" width={26} height={26} alt="" />
      {!compact && <span>Rowmill</span>}
    </span>
  );
}
