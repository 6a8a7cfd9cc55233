import { stringifyJson } from '../../api/exactNumber';
import type { ProjectItem } from '../../api/types';
import { isProcessed } from '../../api/types';
import { tickFirstStep } from '../../ui/firstSteps';
import { cellSelection } from '../grid/selection';
import { ROW_HEIGHT_LABELS, ROW_HEIGHTS, type RowHeight } from '../grid/rowHeights';
import type { Selection } from '../grid/selection';
import { columnIcon } from '../model/columnIcon';
import { isFiltered, runBody } from '../rows/rowQuery';
import { recipeOf } from '../recipes/recipe';
import type { PanelTarget } from '../state/panelTarget';
import type { Table } from '../state/useTable';
import { exportChoices } from '../transfer/exportChoices';
import { openTool } from '../views/openFilters';
import { withHidden } from '../views/viewState';
import type { Command } from './commands';

/** What commands need of the page around the table. */
export interface CommandContext {
  table: Table;
  projects: readonly ProjectItem[];
  onPanel: (target: PanelTarget) => void;
  onSelect: (selection: Selection) => void;
  onImport: () => void;
  onFind: () => void;
  onHelp: () => void;
  onNavigate: (path: string) => void;
  /** The theme that is not shown now. */
  otherScheme: 'light' | 'dark';
  onScheme: () => void;
}

/** Every action of the table page, in the order of the groups. */
export function tableCommands(context: CommandContext): Command[] {
  return [...runCommands(context), ...tableTools(context), ...columnCommands(context), ...viewCommands(context), ...placeCommands(context)];
}

function runCommands({ table, onPanel }: CommandContext): Command[] {
  const { runs, query, progress } = table;
  const processed = table.columns.filter(isProcessed);
  const run = (label: string, body: Parameters<typeof runs.run>[0], words = ''): Command => ({
    ...{ label, group: 'Run', icon: 'play', words: `start ${words}` },
    run: () => void runs.run(body),
  });
  const past: Command = { label: 'Show past runs', group: 'Run', icon: 'chart', words: 'history cost', run: () => onPanel({ kind: 'runs' }) };
  if (progress.isRunning) return [{ label: 'Stop the run', group: 'Run', icon: 'stop', words: 'cancel abort', run: () => void runs.stop() }, past];
  if (processed.length === 0) return [];
  return [
    ...(isFiltered(query) ? [run('Run rows shown', runBody(query), 'filtered view')] : []),
    run('Run all rows', {}),
    run('Run first 10 rows', { ...runBody(query), limit: 10 }, 'try test'),
    run('Run failed cells', { statuses: ['error'] }, 'retry errors again'),
    run('Run out-of-date cells', { statuses: ['completed'] }, 'stale outdated refresh'),
    { label: 'Choose what to run', group: 'Run', icon: 'play', words: 'estimate cost price rows', run: () => runs.choose(runBody(query)) },
    ...processed.map((column) => run(`Run column “${column.header}”`, { columnIds: [column.id] })),
    run('Rerun all cells', { force: true }, 'again force'),
    past,
  ];
}

function tableTools({ table, onPanel, onImport, onFind }: CommandContext): Command[] {
  const { editor, setRowHeight } = table;
  const group = 'Table';
  return [
    { label: 'Find in cells', group, icon: 'search', words: 'next previous', keys: 'Ctrl + F', run: onFind },
    { label: 'Search all cells', group, icon: 'search', words: 'find rows filter', run: () => document.getElementById('table-search')?.focus() },
    { label: 'Filter rows', group, icon: 'filter', words: 'where condition', run: () => openTool('filter') },
    { label: 'Sort rows', group, icon: 'sort', words: 'order', run: () => openTool('sort') },
    { label: 'Group rows', group, icon: 'group', words: 'count total pivot values', run: () => onPanel({ kind: 'groups' }) },
    { label: 'Import a file', group, icon: 'upload', words: 'csv upload jsonl', run: onImport },
    ...exportChoices(table).map(({ label, part, url }): Command => {
      return { label: `Export ${part} as ${label}`, group, icon: 'download', words: 'download save', run: () => (tickFirstStep('export'), download(url)) };
    }),
    ...(editor.canUndo ? [{ label: 'Undo', group, icon: 'undo', keys: 'Ctrl + Z', run: () => void editor.undo() } as const] : []),
    ...(editor.canRedo ? [{ label: 'Redo', group, icon: 'redo', keys: 'Ctrl + Shift + Z', run: () => void editor.redo() } as const] : []),
    ...(Object.keys(ROW_HEIGHTS) as RowHeight[]).map((height): Command => {
      return { label: `Make rows ${ROW_HEIGHT_LABELS[height].toLowerCase()}`, group, icon: 'rowHeight', words: 'height density wrap', run: () => setRowHeight(height) };
    }),
    ...(table.columns.some(isProcessed)
      ? [{ label: 'Save columns as a recipe', group, icon: 'wand', words: 'export template share', run: () => saveRecipe(table) } as const]
      : []),
    { label: 'Open the trash', group, icon: 'trash', words: 'deleted restore', run: () => onPanel({ kind: 'trash' }) },
  ];
}

function columnCommands({ table, onPanel, onSelect }: CommandContext): Command[] {
  const { columns, shownColumns, selection, views } = table;
  const group = 'Columns';
  const isShown = (columnId: string) => shownColumns.some(({ id }) => id === columnId);
  return [
    { label: 'Add column', group, icon: 'plus', words: 'new create enrich', run: () => onPanel({ kind: 'gallery' }) },
    ...shownColumns.map((column): Command => {
      const go = () => onSelect(cellSelection(selection.cell?.rowIndex ?? 0, column.id, shownColumns));
      return { label: `Go to column “${column.header}”`, group, icon: columnIcon(column), words: 'jump scroll', run: go };
    }),
    ...columns.map((column): Command => {
      const open = () => onPanel({ kind: 'column', columnId: column.id });
      return { label: `Configure column “${column.header}”`, group, icon: 'settings', words: 'edit settings', run: open };
    }),
    ...columns.filter(({ id }) => !isShown(id)).map((column): Command => {
      const show = () => views.change(withHidden(views.state, column.id, false));
      return { label: `Show column “${column.header}”`, group, icon: 'eye', words: 'hidden', run: show };
    }),
  ];
}

function viewCommands({ table: { views } }: CommandContext): Command[] {
  const group = 'Views';
  return [
    ...(views.view ? [{ label: 'Open all rows', group, icon: 'table', run: () => views.open(undefined) } as const] : []),
    ...views.views.map((view): Command => ({ label: `Open view “${view.name}”`, group, icon: 'table', run: () => views.open(view.id) })),
    ...(views.isChanged ? [{ label: 'Discard changes to this view', group, icon: 'undo', words: 'clear reset filters sorting', run: views.discard } as const] : []),
  ];
}

function placeCommands({ table, projects, onNavigate, onHelp, otherScheme, onScheme }: CommandContext): Command[] {
  const group = 'Go to';
  const { id } = table.project;
  const to = (label: string, path: string, icon: Command['icon'], words = ''): Command => ({ label, group, icon, words, run: () => onNavigate(path) });
  return [
    to('Open all projects', '/', 'table', 'home list'),
    ...projects.filter((project) => project.id !== id).map((project) => to(`Open project “${project.title}”`, `/projects/${project.id}`, 'table')),
    to('Open project settings', `/projects/${id}/settings/general`, 'settings', 'rename delete'),
    to('Open the project’s API', `/projects/${id}/settings/api`, 'code', 'webhook curl'),
    to('Open settings', '/settings/providers', 'settings', 'keys providers team secrets'),
    { label: `Switch to ${otherScheme} theme`, group, icon: otherScheme === 'light' ? 'sun' : 'moon', words: 'mode appearance colour', run: onScheme },
    { label: 'Show keyboard shortcuts', group, icon: 'info', words: 'help keys', keys: '?', run: onHelp },
  ];
}

function saveRecipe({ project, columns }: Table): void {
  const recipe = recipeOf(project.title, columns);
  const url = URL.createObjectURL(new Blob([`${stringifyJson(recipe, 2)}\n`], { type: 'application/json' }));
  download(url, `${project.title}.recipe.json`);
  URL.revokeObjectURL(url);
}

function download(url: string, name = ''): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}
