import type { FilterGroup, FilterNode } from '../../api/types';
import { isGroup } from './operators';

type Conjunction = FilterGroup['conjunction'];

/** A list's conditions must all hold; one that is a single group is shown as that group. */
export function matchOf(filters: readonly FilterNode[]): { conjunction: Conjunction; filters: readonly FilterNode[] } {
  const [only] = filters;
  return filters.length === 1 && only && isGroup(only) ? only : { conjunction: 'and', filters };
}

/** The other way round. */
export function asList(conjunction: Conjunction, filters: readonly FilterNode[]): FilterNode[] {
  if (filters.length === 0) return [];
  const [only] = filters;
  // A single group would be taken for the list itself, so it stays in one.
  const isBare = conjunction === 'and' && !(filters.length === 1 && only && isGroup(only));
  return isBare ? [...filters] : [{ conjunction, filters: [...filters] }];
}
