import type { Column } from '../../api/types';
import type { IconName } from '../../ui/iconPaths';

/** The icon of a column's kind. */
export function columnIcon(column: Pick<Column, 'type' | 'dataShape' | 'id'>): IconName {
  if (column.id === '_trigger') return 'table';
  switch (column.type) {
    case 'ai':
      return column.dataShape === 'json' ? 'braces' : 'spark';
    case 'task':
      return column.dataShape === 'waterfall' ? 'mail' : 'globe';
    case 'api':
      return 'plug';
    case 'reference':
      return 'link';
    default:
      return 'text';
  }
}
