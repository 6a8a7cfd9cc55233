import { isNumber, readNumber } from '../../api/exactNumber';
import type { Filter, FilterGroup, FilterNode, Json } from '../../api/types';
import { isComparable } from './numberField';

/** The shape of a filter's value. */
export type ValueKind = 'none' | 'text' | 'list' | 'number' | 'range' | 'date' | 'within' | 'status' | 'statuses' | 'codes';

export interface Operator {
  id: string;
  label: string;
  value: ValueKind;
  group: 'Any value' | 'Text' | 'Numbers' | 'Dates' | 'Yes or no' | 'Lists' | 'Cell status';
}

export const OPERATORS: readonly Operator[] = [
  { id: 'contains', label: 'contains', value: 'text', group: 'Text' },
  { id: 'notContains', label: 'does not contain', value: 'text', group: 'Text' },
  { id: 'startsWith', label: 'starts with', value: 'text', group: 'Text' },
  { id: 'endsWith', label: 'ends with', value: 'text', group: 'Text' },
  { id: 'matches', label: 'matches the pattern', value: 'text', group: 'Text' },
  { id: 'equals', label: 'is', value: 'text', group: 'Any value' },
  { id: 'notEquals', label: 'is not', value: 'text', group: 'Any value' },
  { id: 'in', label: 'is one of', value: 'list', group: 'Any value' },
  { id: 'notIn', label: 'is none of', value: 'list', group: 'Any value' },
  { id: 'isEmpty', label: 'is empty', value: 'none', group: 'Any value' },
  { id: 'isNotEmpty', label: 'is not empty', value: 'none', group: 'Any value' },
  { id: 'isInvalid', label: 'does not fit the type', value: 'none', group: 'Any value' },
  { id: 'isValid', label: 'fits the type', value: 'none', group: 'Any value' },
  { id: 'greaterThan', label: 'is more than', value: 'number', group: 'Numbers' },
  { id: 'greaterThanOrEqual', label: 'is at least', value: 'number', group: 'Numbers' },
  { id: 'lessThan', label: 'is less than', value: 'number', group: 'Numbers' },
  { id: 'lessThanOrEqual', label: 'is at most', value: 'number', group: 'Numbers' },
  { id: 'between', label: 'is between', value: 'range', group: 'Numbers' },
  { id: 'before', label: 'is before', value: 'date', group: 'Dates' },
  { id: 'after', label: 'is after', value: 'date', group: 'Dates' },
  { id: 'onOrBefore', label: 'is on or before', value: 'date', group: 'Dates' },
  { id: 'onOrAfter', label: 'is on or after', value: 'date', group: 'Dates' },
  { id: 'isWithin', label: 'is within', value: 'within', group: 'Dates' },
  { id: 'isTrue', label: 'is yes', value: 'none', group: 'Yes or no' },
  { id: 'isFalse', label: 'is no', value: 'none', group: 'Yes or no' },
  { id: 'hasAnyOf', label: 'has any of', value: 'list', group: 'Lists' },
  { id: 'hasAllOf', label: 'has all of', value: 'list', group: 'Lists' },
  { id: 'hasNoneOf', label: 'has none of', value: 'list', group: 'Lists' },
  { id: 'statusIs', label: 'has status', value: 'status', group: 'Cell status' },
  { id: 'statusIn', label: 'has one of the statuses', value: 'statuses', group: 'Cell status' },
  { id: 'errorCodeIn', label: 'failed with', value: 'codes', group: 'Cell status' },
  { id: 'isStale', label: 'is out of date', value: 'none', group: 'Cell status' },
  { id: 'isManual', label: 'was edited manually', value: 'none', group: 'Cell status' },
];

export function operatorOf(id: string): Operator {
  return OPERATORS.find((operator) => operator.id === id) ?? (OPERATORS[0] as Operator);
}

/** The initial value for a chosen operator. Keeps the old value if it fits. */
export function valueFor(operator: Operator, before: Json | undefined): Json | undefined {
  const isList = Array.isArray(before);
  switch (operator.value) {
    case 'none':
      return undefined;
    case 'text':
    case 'date':
      return typeof before === 'string' ? before : '';
    case 'number':
      return numberIn(before);
    case 'list':
      return isList ? before : typeof before === 'string' && before ? [before] : [];
    case 'range':
      return isList && before.length === 2 ? before : [numberIn(before), null];
    case 'within':
      return { mode: 'pastDays', n: 7 };
    case 'status':
      return 'error';
    case 'statuses':
      return ['error'];
    case 'codes':
      return ['rate_limited'];
  }
}

export function isGroup(node: FilterNode): node is FilterGroup {
  return 'conjunction' in node;
}

/** Maximum nesting of groups, without the list itself. */
export const DEPTH_MAX = 3;

/**
 * Filters without incomplete conditions. A condition without a value would hide every row while somebody types, so it
 * counts only once it is complete.
 */
export function completeFilters(nodes: readonly FilterNode[]): FilterNode[] {
  return nodes.flatMap((node): FilterNode[] => {
    if (!isGroup(node)) return filterProblem(node) ? [] : [node];
    const filters = completeFilters(node.filters);
    return filters.length > 0 ? [{ ...node, filters }] : [];
  });
}

/** What a condition is missing, as a sentence; undefined if it is complete. */
export function filterProblem({ operator, value }: Filter): string | undefined {
  const { value: kind } = operatorOf(operator);
  const isFilled = Array.isArray(value) && value.length > 0;
  switch (kind) {
    case 'none':
      return undefined;
    case 'list':
      return isFilled ? undefined : 'Type a value, then Enter.';
    case 'statuses':
    case 'codes':
      return isFilled ? undefined : 'Choose at least one.';
    case 'number':
      return isComparable(value) ? undefined : 'Type a number.';
    case 'range':
      return isFilled && value.every(isComparable) ? undefined : 'Type both numbers.';
    case 'date':
      return value ? undefined : 'Choose a date.';
    default:
      if (value === undefined || value === null || value === '') return 'Type a value.';
      return operator === 'matches' ? patternProblem(String(value)) : undefined;
  }
}

/** Checks a pattern before it is sent, as far as the browser can: the service's syntax differs a little. */
function patternProblem(pattern: string): string | undefined {
  if (/\(\?(=|!|<=|<!)/.test(pattern)) return 'Lookahead and lookbehind are not supported.';
  try {
    new RegExp(pattern.replace(/^\(\?[imsx]+\)/, '').replaceAll('(?P<', '(?<'));
    return undefined;
  } catch {
    return 'This pattern is not valid.';
  }
}

function numberIn(value: Json | undefined): Json {
  if (isNumber(value)) return value;
  return typeof value === 'string' ? (readNumber(value) ?? null) : null;
}

/** Counts the conditions, including those in groups. */
export function countFilters(nodes: readonly FilterNode[]): number {
  return nodes.reduce((sum, node) => sum + (isGroup(node) ? countFilters(node.filters) : 1), 0);
}
