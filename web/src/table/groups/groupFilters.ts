import { stringifyJson } from '../../api/exactNumber';
import type { Filter, FilterNode, Json } from '../../api/types';
import { isGroup } from '../views/operators';

/** The filter that shows one group: rows with a value, or those without any. */
export function groupFilter(columnId: string, value: Json | undefined): Filter {
  return value === undefined ? { columnId, operator: 'isEmpty' } : { columnId, operator: 'equals', value };
}

const isOfGroup = (node: FilterNode, columnId: string) =>
  !isGroup(node) && node.columnId === columnId && node.path === undefined && (node.operator === 'equals' || node.operator === 'isEmpty');

/** The filters without the one that shows a group of this column: all groups are counted, also while one is shown. */
export function withoutGroup(filters: readonly FilterNode[], columnId: string): FilterNode[] {
  return filters.filter((node) => !isOfGroup(node, columnId));
}

export function isGroupShown(filters: readonly FilterNode[], wanted: Filter): boolean {
  return filters.some((node) => isOfGroup(node, wanted.columnId) && isSame(node as Filter, wanted));
}

/** Shows only one group, or all rows again if it is shown already. */
export function toggleGroup(filters: readonly FilterNode[], wanted: Filter): FilterNode[] {
  const others = withoutGroup(filters, wanted.columnId);
  return isGroupShown(filters, wanted) ? others : [...others, wanted];
}

function isSame(a: Filter, b: Filter): boolean {
  return a.operator === b.operator && stringifyJson(a.value) === stringifyJson(b.value);
}
