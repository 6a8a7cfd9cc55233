import { type RefObject, useEffect, useRef } from 'react';
import { counted } from '../ui/format';
import { tell } from '../ui/notify';
import type { Table } from './useTable';

/** Keys that work anywhere on the page, unless somebody is typing. */
export function useShortcuts(table: Table, frame: RefObject<HTMLElement | null>, onEscape: () => void): void {
  const current = useRef({ table, onEscape });
  current.current = { table, onEscape };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isCommand = event.ctrlKey || event.metaKey;
      const { table: now } = current.current;
      const key = event.key.toLowerCase();
      if (isCommand && key === 'f' && !event.shiftKey) {
        event.preventDefault();
        document.getElementById('table-search')?.focus();
        return;
      }
      if (isTyping(event.target)) return;
      if (isCommand && key === 'z') {
        event.preventDefault();
        void (event.shiftKey ? now.editor.redo() : now.editor.undo());
      } else if (isCommand && key === 'y') {
        event.preventDefault();
        void now.editor.redo();
      } else if (isCommand && event.key === 'Enter' && frame.current?.contains(document.activeElement)) {
        event.preventDefault();
        runRange(now);
      } else if (event.key === 'Escape' && !document.querySelector('[role="dialog"],[role="menu"]')) {
        current.current.onEscape();
      }
    };
    // Before the grid, which keeps some of these keys for itself.
    window.addEventListener('keydown', onKeyDown, true);
    return () => window.removeEventListener('keydown', onKeyDown, true);
  }, [frame]);
}

/** Runs the cells that are selected. */
function runRange(table: Table): void {
  const { range } = table.selection;
  if (!range) return;
  const columnIds = table.shownColumns.slice(range.firstColumn, range.endColumn).map((column) => column.id);
  const rowIds: string[] = [];
  for (let index = range.firstRow; index < range.endRow; index++) {
    const row = table.store.rowAt(index);
    if (row) rowIds.push(row.id);
  }
  if (rowIds.length === 0) return;
  tell(`Running ${counted(rowIds.length, 'row')} of the selection.`);
  void table.runs.run({ rowIds, columnIds });
}

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? target : undefined;
  return element?.tagName === 'INPUT' || element?.tagName === 'TEXTAREA' || element?.isContentEditable === true;
}
