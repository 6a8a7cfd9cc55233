import classes from './Shell.module.css';

/** Logo and name. Beside a breadcrumb on a narrow screen, only the logo. */
export function Brand({ compact = false }: { compact?: boolean }) {
  return (
    <span className={classes.brand}>
      <img src="./rowmill.svg" width={26} height={26} alt="" />
      {!compact && <span>Rowmill</span>}
    </span>
  );
}
