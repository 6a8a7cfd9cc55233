import { isNumber } from '../../api/exactNumber';
import type { Column, Format, FormatType, Json } from '../../api/types';
import { isProcessed } from '../../api/types';
import { isJson } from '../model/values';
import { OPERATORS, type Operator } from './operators';

/** The usual kind of value in a column. */
export type Kind = 'text' | 'number' | 'date' | 'boolean' | 'choice' | 'list' | 'json';

const DATE = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}|$)/;

const KINDS: Partial<Record<FormatType, Kind>> = {
  number: 'number',
  currency: 'number',
  percent: 'number',
  rating: 'number',
  date: 'date',
  dateTime: 'date',
  checkbox: 'boolean',
  select: 'choice',
  multiSelect: 'list',
  json: 'json',
};

/** The kind of a column with a type; else guessed from sample values, text if they do not agree. */
export function kindOf(values: readonly Json[], format?: Format): Kind {
  if (format) return KINDS[format.type] ?? 'text';
  const filled = values.filter((value) => value !== null && value !== '');
  const areAll = (is: (value: Json) => boolean) => filled.length > 0 && filled.every(is);
  if (areAll((value) => typeof value === 'boolean')) return 'boolean';
  if (areAll((value) => isNumber(value) || (typeof value === 'string' && /^[+-]?\d+(\.\d+)?$/.test(value)))) return 'number';
  if (areAll((value) => typeof value === 'string' && DATE.test(value))) return 'date';
  if (areAll(Array.isArray)) return 'list';
  return areAll(isJson) ? 'json' : 'text';
}

type GroupName = Operator['group'];

const LIKELY: Record<Kind, GroupName[]> = {
  text: ['Text', 'Any value'],
  number: ['Numbers', 'Any value'],
  date: ['Dates', 'Any value'],
  boolean: ['Yes or no', 'Any value'],
  choice: ['Any value', 'Text'],
  list: ['Lists', 'Any value'],
  json: ['Text', 'Any value'],
};

export interface OperatorGroup {
  group: GroupName;
  items: { value: string; label: string }[];
}

/** Operators split into those that suit a column and the rest. */
export function groupsFor(kind: Kind, column: Column | undefined): { likely: OperatorGroup[]; others: OperatorGroup[] } {
  const names: GroupName[] = [...LIKELY[kind], ...(column && isProcessed(column) ? (['Cell status'] as const) : [])];
  const rest = [...new Set(OPERATORS.map(({ group }) => group))].filter((group) => !names.includes(group));
  const named = (group: GroupName): OperatorGroup => ({
    group,
    items: OPERATORS.filter((operator) => operator.group === group).map(({ id, label }) => ({ value: id, label })),
  });
  return { likely: names.map(named), others: rest.map(named) };
}
