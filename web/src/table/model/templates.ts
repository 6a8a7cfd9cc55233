import type { Column } from '../../api/types';

export type TemplateId = 'manual' | 'ai-text' | 'ai-json' | 'ai-research' | 'waterfall-email' | 'web-scraper' | 'http-api' | 'reference';

/** The template a column was made from. */
export function templateOf(column: Pick<Column, 'type' | 'dataShape' | 'aiConfig'>): TemplateId {
  switch (column.type) {
    case 'ai':
      if (column.aiConfig?.research) return 'ai-research';
      return column.dataShape === 'json' ? 'ai-json' : 'ai-text';
    case 'task':
      return column.dataShape === 'waterfall' ? 'waterfall-email' : 'web-scraper';
    case 'api':
      return 'http-api';
    case 'reference':
      return 'reference';
    default:
      return 'manual';
  }
}
