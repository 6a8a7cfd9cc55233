import type { FilterGroup, FilterNode } from '../../api/types';
import { isGroup } from './operators';

type Conjunction = FilterGroup['conjunction'];

/** Splits a list into its match mode and conditions. A list that is a single group is shown as that group. */
export function matchOf(filters: readonly FilterNode[]): { conjunction: Conjunction; filters: readonly FilterNode[] } {
  const [only] = filters;
  return filters.length === 1 && only && isGroup(only) ? only : { conjunction: 'and', filters };
}

/** The inverse: a list from a match mode and conditions. */
export function asList(conjunction: Conjunction, filters: readonly FilterNode[]): FilterNode[] {
  if (filters.length === 0) return [];
  const [only] = filters;
  // A single group would be read back as the list itself, so it is wrapped in one.
  const isBare = conjunction === 'and' && !(filters.length === 1 && only && isGroup(only));
  return isBare ? [...filters] : [{ conjunction, filters: [...filters] }];
}
