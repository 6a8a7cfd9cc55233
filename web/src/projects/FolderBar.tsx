import { Icon } from '../ui/Icon';
import { formatNumber } from '../ui/format';
import type { Folder } from './folders';
import classes from './Projects.module.css';

interface Props {
  folders: readonly Folder[];
  total: number;
  /** The open folder; empty for all projects. */
  open: string;
  onOpen: (folder: string) => void;
}

/** Chooses the folder whose projects are shown. */
export function FolderBar({ folders, total, open, onOpen }: Props) {
  if (folders.length === 0) return null;
  return (
    <nav className={classes.folders} aria-label="Folders">
      <button type="button" className={classes.folder} aria-pressed={open === ''} onClick={() => onOpen('')}>
        All <span className={classes.count}>{formatNumber(total)}</span>
      </button>
      {folders.map(({ name, count }) => (
        <button key={name} type="button" className={classes.folder} aria-pressed={open === name} onClick={() => onOpen(name)}>
          <Icon name="folder" size={15} />
          <span className={classes.folderName}>{name}</span> <span className={classes.count}>{formatNumber(count)}</span>
        </button>
      ))}
    </nav>
  );
}
