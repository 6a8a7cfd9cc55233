import { lazy, Suspense } from 'react';
import type { useClipboard } from './editing/useClipboard';
import type { Selection } from './grid/selection';
import type { PanelTarget } from './state/panelTarget';
import type { Table } from './state/useTable';

const RunDialog = lazy(() => import('./running/RunDialog'));
const ImportDialog = lazy(() => import('./transfer/ImportDialog'));
const PasteDialog = lazy(() => import('./editing/PasteDialog'));
const CommandPalette = lazy(() => import('./commands/CommandPalette'));
const KeyboardHelp = lazy(() => import('./commands/KeyboardHelp'));

/** An import that is open: with a file, or one that runs already. */
export interface Importing {
  file?: File;
  jobId?: string;
}

export type Overlay = 'commands' | 'help' | undefined;

interface Props {
  table: Table;
  clipboard: ReturnType<typeof useClipboard>;
  importing: Importing | undefined;
  onImporting: (importing: Importing | undefined) => void;
  overlay: Overlay;
  onOverlay: (overlay: Overlay) => void;
  onPanel: (target: PanelTarget) => void;
  onSelect: (selection: Selection) => void;
  onFind: () => void;
}

/** The dialogs of the table page. Most are loaded when they are opened. */
export function TableDialogs({ table, clipboard, importing, onImporting, overlay, onOverlay, onPanel, onSelect, onFind }: Props) {
  return (
    <>
      <Suspense>{table.runs.question && <RunDialog key={table.runs.question.number} table={table} question={table.runs.question} />}</Suspense>
      <Suspense>
        {importing && <ImportDialog table={table} file={importing.file} jobId={importing.jobId} onClose={() => onImporting(undefined)} />}
      </Suspense>
      <Suspense>{clipboard.offer && <PasteDialog table={table} offer={clipboard.offer} onClose={clipboard.closeOffer} />}</Suspense>
      <Suspense>
        {overlay === 'commands' && (
          <CommandPalette
            table={table}
            onPanel={onPanel}
            onSelect={onSelect}
            onFind={onFind}
            onImport={() => onImporting({})}
            onHelp={() => onOverlay('help')}
            onClose={() => onOverlay(undefined)}
          />
        )}
        {overlay === 'help' && <KeyboardHelp onClose={() => onOverlay(undefined)} />}
      </Suspense>
    </>
  );
}
