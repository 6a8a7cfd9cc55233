import type { components } from './schema';

type Schemas = components['schemas'];

export type Project = Schemas['ProjectFull'];
export type ProjectItem = Schemas['ProjectItem'];
export type Column = Schemas['ColumnFull'];
export type ColumnCreate = Schemas['ColumnCreate'];
export type ColumnPatch = Schemas['ColumnPatch'];
export type ColumnType = Schemas['ColumnType'];
export type Template = Schemas['TemplateItem'];
export type CellStatus = Schemas['CellStatus'];
export type ErrorCode = Schemas['ErrorCode'];
export type CellError = Schemas['CellError'];
export type Status = Schemas['Status'];
export type View = Schemas['ViewFull'];
export type Provider = Schemas['ProviderOut'];
export type WaterfallProvider = Schemas['WaterfallProvider'];
export type TriggerBody = Schemas['TriggerBody'];
export type Sorting = Schemas['Sorting'];
export type HttpMethod = Schemas['HttpMethod'];
export type ProjectPatch = Schemas['ProjectPatch'];
export type ApiKey = Schemas['KeyOut'];
export type SignedInBrowser = Schemas['SessionOut'];
export type TryBody = Schemas['TryBody'];
export type ImportResult = Schemas['FileOutcome'];

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Result of a try. openapi.json types its values only as JSON. */
export type TryResult = Schemas['TriedOut'] & {
  resolved: Record<string, Json>;
  result?: Schemas['TriedResult'] & { value?: Json; meta?: Record<string, Json> };
};

/** A cell of a list with `withState`, plus the fields that only a single row has. */
export interface Cell {
  value: Json;
  status: CellStatus;
  stale?: boolean;
  manual?: boolean;
  outcome?: 'no_data';
  error?: CellError;
  attempts?: number;
  retryAt?: string;
  updatedAt?: string;
  meta?: Record<string, Json>;
}

export interface Row {
  id: string;
  cells: Record<string, Cell>;
}

export interface Filter {
  columnId: string;
  operator: string;
  value?: Json;
  path?: string;
  caseSensitive?: boolean;
  timeZone?: string;
}

export interface FilterGroup {
  conjunction: 'and' | 'or' | 'not';
  filters: FilterNode[];
}

export type FilterNode = Filter | FilterGroup;

/** Whether a column is filled by the service rather than by people. */
export function isProcessed(column: Pick<Column, 'type'>): boolean {
  return column.type !== 'manual' && column.type !== 'reference';
}
