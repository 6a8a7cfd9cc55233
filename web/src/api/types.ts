import type { components } from '../../generated/schema';
import type { ExactNumber } from './exactNumber';

type Schemas = components['schemas'];

export type Project = Schemas['Project'];
export type ProjectItem = Schemas['ProjectItem'];

type ColumnSettings = Pick<Schemas['ManualColumn'], 'trigger'> &
  Pick<Schemas['AiColumn'], 'aiConfig'> &
  Pick<Schemas['ApiColumn'], 'apiConfig'> &
  Pick<Schemas['ReferenceColumn'], 'referenceConfig'> & {
    taskConfig: {
      taskType: string;
      waterfallEmail?: Schemas['WaterfallEmail'];
      webScraper?: Schemas['WebScraper'];
      verifyEmail?: Schemas['VerifyEmail'];
      findCompany?: Schemas['FindCompany'];
      findPeople?: Schemas['FindPeople'];
      fanOut?: Schemas['FanOut'];
    };
  };

/** A column of any type. openapi.json has one schema for each type; forms show them all. */
export type Column = Omit<Schemas['ManualColumn'], 'type' | 'trigger'> & { type: ColumnType } & Partial<ColumnSettings>;
/** The type of a column's values. */
export type Format = Schemas['Format'];
export type FormatType = Schemas['FormatType'];
export type DateStyle = Schemas['DateStyle'];
export type SelectOption = Schemas['SelectOption'];
export type OptionColor = Schemas['OptionColor'];
export type ColumnCreate = Schemas['ColumnCreate'];
export type ColumnPatch = Schemas['ColumnPatch'];
export type ColumnType = Schemas['ColumnType'];
export type Template = Schemas['Template'];
export type CellStatus = Schemas['CellStatus'];
export type ErrorCode = Schemas['ErrorCode'];
export type CellError = Schemas['CellError'];
export type Status = Schemas['Status'];
export type Run = Schemas['Run'];
export type View = Schemas['View'];
export type ColumnSummary = Schemas['ColumnSummary'];
export type Provider = Schemas['Provider'];
export type FanOut = Schemas['FanOut'];
export type WaterfallProvider = Schemas['WaterfallProvider'];
export type TriggerBody = Schemas['TriggerBody'];
export type Estimate = Schemas['Estimate'];
export type Spending = Schemas['Spending'];
export type SpendingBody = Schemas['SpendingBody'];
export type UsageGroup = Schemas['UsageGroup'];
export type SpendingUsageLine = Schemas['SpendingUsageLine'];
export type Cap = Schemas['Cap'];
export type CapBody = Schemas['CapBody'];
export type Sorting = Schemas['Sorting'];
export type HttpMethod = Schemas['HttpMethod'];
export type ProjectPatch = Schemas['ProjectPatch'];
export type ApiKey = Schemas['ApiKey'];
export type KeyCreate = Schemas['KeyCreate'];
export type KeyRotate = Schemas['KeyRotate'];
export type Scope = ApiKey['scopes'][number];
export type SignedInBrowser = Schemas['Session'];
export type TryBody = Schemas['TryBody'];
export type Webhook = Schemas['Webhook'];
export type WebhookCreate = Schemas['WebhookCreate'];
export type WebhookPatch = Schemas['WebhookPatch'];
export type WebhookEventType = Schemas['WebhookEventType'];
export type WebhookDelivery = Schemas['WebhookDelivery'];
export type Hook = Schemas['Hook'];
export type HookCreate = Schemas['HookCreate'];
export type HookPatch = Schemas['HookPatch'];
export type UnknownKeys = Schemas['UnknownKeys'];
export type InboundDelivery = Schemas['InboundDelivery'];
export type ImportResult = Omit<Schemas['ImportResult'], 'success'>;

/** Any JSON value. */
export type Json = string | number | ExactNumber | boolean | null | Json[] | { [key: string]: Json };

/** Result of a try. openapi.json types its values only as JSON. */
export type TryResult = Schemas['Tried'] & {
  resolved: Record<string, Json>;
  result?: Schemas['TriedResult'] & { value?: Json; meta?: Record<string, Json> };
};

export type CompareBody = Schemas['CompareBody'];
export type ComparedCell = Schemas['ComparedCell'] & { value?: Json; meta?: Record<string, Json> };
export type ComparedVariant = Omit<Schemas['ComparedVariant'], 'cells'> & { cells: ComparedCell[] };
/** What a comparison of prompts came to. openapi.json types its values only as JSON. */
export type Comparison = Omit<Schemas['Comparison'], 'rows' | 'variants'> & {
  rows: { rowId: string; expected?: Json }[];
  variants: ComparedVariant[];
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
