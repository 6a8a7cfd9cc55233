import { CellMenu, type CellMenuTarget } from './cell/CellMenu';
import { HeaderMenu, type HeaderMenuTarget } from './columns/HeaderMenu';
import type { ColumnActions } from './columns/useColumnActions';
import type { GridHandle } from './grid/gridTypes';
import type { Table } from './state/useTable';

export type MenuTarget = ({ kind: 'header' } & HeaderMenuTarget) | ({ kind: 'cell' } & CellMenuTarget);

interface Props {
  table: Table;
  target: MenuTarget | undefined;
  actions: ColumnActions;
  grid: GridHandle | null;
  onOpen: (target: MenuTarget) => void;
  onDetails: (rowId: string, columnId: string) => void;
  onClose: () => void;
}

/** The menu that is open over the grid, if any. */
export function TableMenus({ table, target, actions, grid, onOpen, onDetails, onClose }: Props) {
  if (!target) return null;
  const close = () => {
    onClose();
    grid?.focus();
  };
  if (target.kind === 'header') return <HeaderMenu table={table} target={target} actions={actions} onClose={close} />;
  const { row, columnId } = target;
  return (
    <CellMenu
      table={table}
      target={target}
      onDetails={() => onDetails(row.id, columnId)}
      onHeaderMenu={() => {
        const bounds = grid?.boundsOf(columnId);
        // Deferred until this menu has closed.
        if (bounds) setTimeout(() => onOpen({ kind: 'header', columnId, bounds }));
      }}
      onCopy={() => {
        grid?.focus();
        // `useClipboard` handles this event. It also works without TLS.
        document.execCommand('copy');
      }}
      onClose={close}
    />
  );
}
