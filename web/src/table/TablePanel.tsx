import { useEffect, useState } from 'react';
import { CellPanel } from './cell/CellPanel';
import { ColumnPanel } from './columns/ColumnPanel';
import { GalleryPanel } from './columns/GalleryPanel';
import type { Selection } from './grid/selection';
import { GroupsPanel } from './groups/GroupsPanel';
import { RecipeList } from './recipes/RecipeList';
import { RecipePanel } from './recipes/RecipePanel';
import { RunsPanel } from './runs/RunsPanel';
import { RunSummary } from './running/RunSummary';
import type { PanelTarget } from './state/panelTarget';
import type { Table } from './state/useTable';
import { TrashPanel } from './trash/TrashPanel';

interface Props {
  table: Table;
  target: PanelTarget;
  onOpen: (target: PanelTarget) => void;
  onSelect: (selection: Selection) => void;
  /** Called when the new column is part of the table. */
  onMade: (columnId: string) => void;
  onClose: () => void;
}

/** React key of the panel for a new column. It stays after saving, so that messages and typed text stay too. */
const NEW = 'new';

export default function TablePanel({ table, target, onOpen, onSelect, onMade, onClose }: Props) {
  const [made, setMade] = useState<{ columnId: string; by: PanelTarget }>();
  // Switches only when the table has the column: otherwise the panel would close briefly and the grid change its width.
  const isThere = made?.by === target && table.columns.some((column) => column.id === made.columnId);
  useEffect(() => {
    if (isThere && made) onMade(made.columnId);
  }, [isThere, made, onMade]);

  switch (target.kind) {
    case 'gallery':
      return (
        <GalleryPanel
          projectId={table.project.id}
          onChoose={(templateId, header) => onOpen({ kind: 'newColumn', templateId, header })}
          onClose={onClose}
        >
          <RecipeList onChoose={(recipe) => onOpen({ kind: 'recipe', recipe })} />
        </GalleryPanel>
      );
    case 'recipe':
      return <RecipePanel table={table} recipe={target.recipe} onBack={() => onOpen({ kind: 'gallery' })} onClose={onClose} />;
    case 'runs':
      return (
        <RunsPanel projectId={table.project.id} isRunning={table.progress.isRunning} onOpen={(runId) => onOpen({ kind: 'run', runId })} onClose={onClose} />
      );
    case 'run':
      return <RunSummary key={target.runId} table={table} runId={target.runId} onBack={() => onOpen({ kind: 'runs' })} onClose={onClose} />;
    case 'groups':
      return <GroupsPanel table={table} columnId={target.columnId} onColumn={(columnId) => onOpen({ kind: 'groups', columnId })} onClose={onClose} />;
    case 'trash':
      return <TrashPanel table={table} onClose={onClose} />;
    case 'newColumn':
      return (
        <ColumnPanel
          key={NEW}
          table={table}
          template={target}
          onBack={() => onOpen({ kind: 'gallery' })}
          onSaved={(columnId) => setMade({ columnId, by: target })}
          onClose={onClose}
        />
      );
    case 'column': {
      const column = table.columns.find((candidate) => candidate.id === target.columnId);
      if (!column) return null;
      const key = column.id === made?.columnId ? NEW : column.id;
      return <ColumnPanel key={key} table={table} column={column} onSaved={() => {}} onClose={onClose} />;
    }
    case 'cell':
      return (
        <CellPanel
          table={table}
          rowId={target.rowId}
          columnId={target.columnId}
          onOpen={onOpen}
          onSelect={onSelect}
          onClose={onClose}
        />
      );
  }
}
