import type { Column } from '../../api/types';
import type { Selection } from './selection';

interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** Escape ends a selection of many cells, but keeps the place: the active cell. */
export type KeyAction = { kind: 'keepCell'; rowIndex: number; columnId: string } | { kind: 'details' | 'cellMenu'; rowIndex: number; columnId: string } | { kind: 'headerMenu'; columnId: string };

/** Keys that we handle instead of the grid. */
export function keyAction(key: Key, selection: Selection, columns: readonly Column[], rowCount: number): KeyAction | undefined {
  const isPlain = !key.ctrlKey && !key.metaKey && !key.shiftKey && !key.altKey;
  const isMenu = key.key === 'ContextMenu' || (key.key === 'F10' && key.shiftKey);
  const isEnter = key.key === 'Enter' && isPlain;
  const header = columns[selection.columns.first() ?? -1];
  if (header) return isMenu || isEnter ? { kind: 'headerMenu', columnId: header.id } : undefined;
  const { cell } = selection;
  if (!cell || cell.rowIndex >= rowCount) return undefined;
  if (isMenu) return { kind: 'cellMenu', ...cell };
  if (key.key === 'Escape' && selection.rows.length === 0) return { kind: 'keepCell', ...cell };
  // In computed cells Enter opens the details: people read them more often than they edit them.
  const isDetails = (key.key === ' ' && isPlain) || (isEnter && isComputed(columns, cell.columnId));
  return isDetails ? { kind: 'details', ...cell } : undefined;
}

export function isComputed(columns: readonly Column[], columnId: string): boolean {
  return columns.some(({ id, type }) => id === columnId && type !== 'manual');
}
