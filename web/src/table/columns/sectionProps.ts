import type { Column } from '../../api/types';
import type { Table } from '../state/useTable';
import type { ColumnDraft, DraftPart } from './draft';

/** What the section of each column type is given. */
export interface SectionProps {
  table: Table;
  draft: ColumnDraft;
  /** The columns this one can refer to. */
  columns: readonly Column[];
  /** The column itself, if it is there already. */
  column: Column | undefined;
  onChange: (part: DraftPart) => void;
}
