import { useEffect, useState } from 'react';
import { CellPanel } from './cell/CellPanel';
import { ColumnPanel } from './columns/ColumnPanel';
import { GalleryPanel } from './columns/GalleryPanel';
import type { TemplateId } from './columns/templates';
import type { Table } from './useTable';

export type PanelTarget =
  | { kind: 'gallery' }
  | { kind: 'newColumn'; templateId: TemplateId; header: string }
  | { kind: 'column'; columnId: string }
  | { kind: 'cell'; rowId: string; columnId: string };

interface Props {
  table: Table;
  target: PanelTarget;
  onOpen: (target: PanelTarget) => void;
  onClose: () => void;
}

export default function TablePanel({ table, target, onOpen, onClose }: Props) {
  switch (target.kind) {
    case 'gallery':
      return (
        <GalleryPanel
          projectId={table.project.id}
          onChoose={(templateId, header) => onOpen({ kind: 'newColumn', templateId, header })}
          onClose={onClose}
        />
      );
    case 'newColumn':
      return (
        <NewColumnPanel key={target.templateId} table={table} target={target} onOpen={onOpen} onClose={onClose} />
      );
    case 'column': {
      const column = table.columns.find((candidate) => candidate.id === target.columnId);
      if (!column) return null;
      return <ColumnPanel key={column.id} table={table} column={column} onSaved={() => {}} onClose={onClose} />;
    }
    case 'cell':
      return (
        <CellPanel
          key={target.rowId + target.columnId}
          table={table}
          rowId={target.rowId}
          columnId={target.columnId}
          onOpen={onOpen}
          onClose={onClose}
        />
      );
  }
}

type NewColumn = Extract<PanelTarget, { kind: 'newColumn' }>;

/** A column to be made. Its panel stays until the table has it, so that the grid beside it keeps its width. */
function NewColumnPanel({ table, target, onOpen, onClose }: Omit<Props, 'target'> & { target: NewColumn }) {
  const [madeId, setMadeId] = useState<string>();
  const isThere = table.columns.some((column) => column.id === madeId);
  useEffect(() => {
    if (isThere && madeId) onOpen({ kind: 'column', columnId: madeId });
  }, [isThere, madeId, onOpen]);
  return <ColumnPanel table={table} template={target} onBack={() => onOpen({ kind: 'gallery' })} onSaved={setMadeId} onClose={onClose} />;
}
