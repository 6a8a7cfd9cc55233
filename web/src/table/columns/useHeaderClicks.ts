import type { HeaderPartKind } from '../grid/headerParts';
import type { Table } from '../state/useTable';
import { nextSorting, toggleCount } from '../views/headerFilters';

/** What a click on a part of a header does. */
export function useHeaderClicks({ runs, views }: Table, onRuns: () => void): (columnId: string, part: HeaderPartKind) => void {
  return (columnId, part) => {
    const { state, change } = views;
    switch (part) {
      case 'run':
        return void runs.run({ columnIds: [columnId] });
      case 'sort':
        return change({ ...state, sorting: nextSorting(state.sorting, columnId) });
      case 'done':
      case 'failed':
      case 'stale':
        return change({ ...state, filters: toggleCount(state.filters, columnId, part) });
      case 'cost':
        return onRuns();
      case 'progress':
    }
  };
}
