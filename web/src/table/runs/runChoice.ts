import type { TriggerBody } from '../../api/types';

export type RowsKind = 'selected' | 'shown' | 'all' | 'first';
export type CellsKind = 'unfinished' | 'failed' | 'outdated' | 'again';

/** What somebody chooses to run. */
export interface RunChoice {
  rows: RowsKind;
  /** How many rows, if the first ones are chosen. */
  first: number;
  cells: CellsKind;
  /** None means all. */
  columnIds: string[];
}

export const FIRST_ROWS = 10;

/** The choice that a body stands for. */
export function choiceOf({ rowIds, limit, filters, search, force, statuses, columnIds }: TriggerBody): RunChoice {
  const isPart = (filters?.length ?? 0) > 0 || Boolean(search);
  return {
    rows: rowIds ? 'selected' : limit !== undefined ? 'first' : isPart ? 'shown' : 'all',
    first: limit ?? FIRST_ROWS,
    cells: force ? 'again' : statuses?.includes('error') ? 'failed' : statuses?.includes('completed') ? 'outdated' : 'unfinished',
    columnIds: columnIds ?? [],
  };
}

/** Where the rows of a choice come from. */
export interface RowSources {
  /** The rows that are shown, in their order. */
  shown: TriggerBody;
  rowIds: string[];
}

/** The body of a choice. `asked` is the one that the dialog was opened with: what cannot be chosen is kept. */
export function bodyOf({ rows, first, cells, columnIds }: RunChoice, asked: TriggerBody, { shown, rowIds }: RowSources): TriggerBody {
  const where: Record<RowsKind, TriggerBody> = { selected: { rowIds }, shown, all: {}, first: { ...shown, limit: first } };
  const which: Record<CellsKind, TriggerBody> = {
    unfinished: {},
    failed: { statuses: ['error'], ...(asked.errorCodes && { errorCodes: asked.errorCodes }) },
    outdated: { statuses: ['completed'] },
    again: { force: true },
  };
  return { ...where[rows], ...which[cells], ...(columnIds.length > 0 && { columnIds }) };
}

/** The rows that a body is about, in their order. */
export function rowsOf({ filters, sorting, search }: TriggerBody): TriggerBody {
  return { ...(filters && { filters }), ...(sorting && { sorting }), ...(search && { search }) };
}
