import type { Column } from '../../api/types';

export type TemplateId = 'manual' | 'ai-text' | 'ai-json' | 'ai-research' | 'waterfall-email' | 'web-scraper' | 'verify-email' | 'find-company' | 'find-people' | 'fan-out' | 'http-api' | 'reference';

/** The template a column was made from. */
export function templateOf(column: Pick<Column, 'type' | 'dataShape' | 'aiConfig' | 'taskConfig'>): TemplateId {
  switch (column.type) {
    case 'ai':
      if (column.aiConfig?.research) return 'ai-research';
      return column.dataShape === 'json' ? 'ai-json' : 'ai-text';
    case 'task':
      return TASKS[column.taskConfig?.taskType ?? ''] ?? (column.dataShape === 'waterfall' ? 'waterfall-email' : 'web-scraper');
    case 'api':
      return 'http-api';
    case 'reference':
      return 'reference';
    default:
      return 'manual';
  }
}

const TASKS: Record<string, TemplateId> = {
  waterfallEmail: 'waterfall-email',
  webScraper: 'web-scraper',
  verifyEmail: 'verify-email',
  findCompany: 'find-company',
  findPeople: 'find-people',
  fanOut: 'fan-out',
};
