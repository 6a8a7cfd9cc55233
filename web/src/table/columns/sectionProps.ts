import type { Column } from '../../api/types';
import type { Table } from '../state/useTable';
import type { ColumnDraft, DraftPart } from './draft';

/** Props of every column type's section. */
export interface SectionProps {
  table: Table;
  draft: ColumnDraft;
  /** The columns this one can refer to. */
  columns: readonly Column[];
  /** The column itself, unless it is new. */
  column: Column | undefined;
  onChange: (part: DraftPart) => void;
}
