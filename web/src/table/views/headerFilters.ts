import type { Filter, FilterNode, Sorting } from '../../api/types';
import { isGroup } from './operators';

export type CountKind = 'done' | 'failed' | 'stale';

const CONDITIONS: Record<CountKind, Omit<Filter, 'columnId'>> = {
  done: { operator: 'statusIs', value: 'completed' },
  failed: { operator: 'statusIs', value: 'error' },
  stale: { operator: 'isStale' },
};

/** Shows only the cells that a header counts, or all again if they are already shown. */
export function toggleCount(filters: readonly FilterNode[], columnId: string, kind: CountKind): FilterNode[] {
  const wanted = (Object.keys(CONDITIONS) as CountKind[]).find((each) => filters.some((node) => isCount(node, columnId, each)));
  const others = filters.filter((node) => !(Object.keys(CONDITIONS) as CountKind[]).some((each) => isCount(node, columnId, each)));
  return wanted === kind ? others : [...others, { columnId, ...CONDITIONS[kind] }];
}

function isCount(node: FilterNode, columnId: string, kind: CountKind): boolean {
  const { operator, value } = CONDITIONS[kind];
  return !isGroup(node) && node.columnId === columnId && node.operator === operator && node.value === value;
}

/** A click on the sort arrow: the other direction, then no sorting by this column. */
export function nextSorting(sorting: Sorting, columnId: string): Sorting {
  return sorting.flatMap((each) => {
    if (each.columnId !== columnId) return [each];
    return each.direction === 'asc' ? [{ ...each, direction: 'desc' as const }] : [];
  });
}
