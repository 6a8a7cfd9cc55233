import { prefix } from '../../api/base';
import { isPlain, queryParams, type RowQuery } from '../rows/rowQuery';
import type { Table } from '../state/useTable';

const KINDS: { label: string; note: string; params: Record<string, string> }[] = [
  { label: 'CSV for spreadsheets (safe)', note: 'Formulas are escaped with an apostrophe.', params: { format: 'csv', bom: 'true' } },
  { label: 'CSV with exact values', note: 'For programs. Values are unchanged.', params: { format: 'csv', formulas: 'keep' } },
  { label: 'JSON Lines', note: 'For programs. Keeps numbers, lists and objects.', params: { format: 'jsonl' } },
];

export interface ExportChoice {
  label: string;
  note: string;
  part: 'this view' | 'everything';
  url: string;
}

/** What can be exported: the current view, if it is not everything, and everything. */
export function exportChoices({ project, query, shownColumns, columns }: Pick<Table, 'project' | 'query' | 'shownColumns' | 'columns'>): ExportChoice[] {
  const columnIds = shownColumns.length < columns.length ? shownColumns.map((column) => column.id) : undefined;
  const isPart = !isPlain(query) || columnIds !== undefined;
  const choices = (part: ExportChoice['part'], shown?: RowQuery) =>
    KINDS.map(({ label, note, params }) => ({ label, note, part, url: exportUrl(project.id, params, shown, shown && columnIds) }));
  return [...(isPart ? choices('this view', query) : []), ...choices('everything')];
}

function exportUrl(projectId: string, kind: Record<string, string>, query?: RowQuery, columnIds?: string[]): string {
  const params = new URLSearchParams({ ...kind, ...(query && queryParams(query)) });
  if (columnIds) params.set('columnIds', columnIds.join(','));
  return `${prefix}/v4/projects/${projectId}/export?${params.toString()}`;
}
