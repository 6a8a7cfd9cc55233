import { type RefObject, useEffect, useRef } from 'react';
import { formatNumber } from '../ui/format';
import { notify, notifyError } from '../ui/notify';
import { fetchIds } from './rows/fetchRows';
import type { Table } from './state/useTable';

const ROWS_MAX = 100_000;

interface Handlers {
  onEscape: () => void;
  onFind: () => void;
  onCommands: () => void;
  onHelp: () => void;
}

/** Keyboard shortcuts of the page. Most are off while somebody types. */
export function useShortcuts(table: Table, frame: RefObject<HTMLElement | null>, handlers: Handlers): void {
  const current = useRef({ table, ...handlers });
  current.current = { table, ...handlers };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isCommand = event.ctrlKey || event.metaKey;
      const { table: now } = current.current;
      const key = event.key.toLowerCase();
      if (isCommand && key === 'f' && !event.shiftKey && !document.querySelector('[aria-modal="true"]')) {
        event.preventDefault();
        return current.current.onFind();
      }
      if (isCommand && key === 'k' && !event.shiftKey && !document.querySelector('[aria-modal="true"]')) {
        event.preventDefault();
        // Closes menus and popovers, as a click beside them does.
        document.body.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
        return current.current.onCommands();
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
        void runRange(now).catch((error: unknown) => notifyError(error, 'The run did not start'));
      } else if (event.key === '?' && !isCommand && !isCellFocused(now, frame.current)) {
        event.preventDefault();
        current.current.onHelp();
      } else if (event.key === 'Escape' && !document.querySelector('[role="dialog"],[role="menu"]')) {
        current.current.onEscape();
      }
    };
    // In the capture phase, because the grid stops some of these keys.
    window.addEventListener('keydown', onKeyDown, true);
    return () => window.removeEventListener('keydown', onKeyDown, true);
  }, [frame]);
}

/** Runs the cells that are selected. */
async function runRange(table: Table): Promise<void> {
  const { range } = table.selection;
  if (!range) return;
  const columnIds = table.shownColumns.slice(range.firstColumn, range.endColumn).map((column) => column.id);
  const endRow = Math.min(range.endRow, table.total ?? 0);
  const rows = endRow - range.firstRow;
  if (rows <= 0) return;
  if (rows > ROWS_MAX) return notify(`Select up to ${formatNumber(ROWS_MAX)} rows, or use Run above for all of them.`);
  const rowIds = await fetchIds(table.project.id, table.query, range.firstRow, endRow);
  await table.runs.run({ rowIds, columnIds });
}

/** Whether a letter would be typed into a cell. */
function isCellFocused({ selection }: Table, frame: HTMLElement | null): boolean {
  return selection.cell !== undefined && frame?.contains(document.activeElement) === true;
}

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? target : undefined;
  return element?.tagName === 'INPUT' || element?.tagName === 'TEXTAREA' || element?.isContentEditable === true;
}
