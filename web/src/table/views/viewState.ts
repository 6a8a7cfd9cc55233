import { stringifyJson } from '../../api/exactNumber';
import type { FilterNode, Sorting, View } from '../../api/types';

/** The settings that a view saves. */
export interface ViewState {
  filters: FilterNode[];
  sorting: Sorting;
  columnVisibility: Record<string, boolean>;
}

export const DEFAULT_VIEW: ViewState = { filters: [], sorting: [], columnVisibility: {} };

export function stateOf(view: View | undefined): ViewState {
  if (!view) return DEFAULT_VIEW;
  return {
    filters: view.filters as FilterNode[],
    sorting: view.sorting,
    columnVisibility: view.columnVisibility,
  };
}

/** Whether two states show the same table. `true` for a column means the same as no entry. */
export function isSameState(a: ViewState, b: ViewState): boolean {
  return signature(a) === signature(b);
}

function signature(state: ViewState): string {
  const hidden = Object.keys(state.columnVisibility)
    .filter((columnId) => state.columnVisibility[columnId] === false)
    .sort();
  return stringifyJson([state.filters, state.sorting, hidden]);
}

export function withHidden(state: ViewState, columnId: string, isHidden: boolean): ViewState {
  return { ...state, columnVisibility: { ...state.columnVisibility, [columnId]: !isHidden } };
}
