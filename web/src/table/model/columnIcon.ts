import type { Column } from '../../api/types';
import type { IconName } from '../../ui/iconPaths';

/** The icon of a column's kind. */
export function columnIcon(column: Pick<Column, 'type' | 'dataShape' | 'id'> & { taskConfig?: { taskType: string } }): IconName {
  if (column.id === '_trigger') return 'table';
  switch (column.type) {
    case 'ai':
      return column.dataShape === 'json' ? 'braces' : 'spark';
    case 'task':
      if (column.taskConfig?.taskType === 'fanOut') return 'group';
      return TASK_ICONS[column.dataShape] ?? 'globe';
    case 'api':
      return 'plug';
    case 'reference':
      return 'link';
    default:
      return 'text';
  }
}

const TASK_ICONS: Partial<Record<Column['dataShape'], IconName>> = { waterfall: 'mail', json: 'search' };
