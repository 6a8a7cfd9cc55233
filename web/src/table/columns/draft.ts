import type { components } from '../../../generated/schema';
import type { Column, ColumnCreate, FilterNode, Format, Json, Provider, WaterfallProvider } from '../../api/types';
import { guessColumns } from '../model/guessColumns';
import { templateOf, type TemplateId } from '../model/templates';
import { completeFilters } from '../views/operators';

type Schemas = components['schemas'];

/** A column while it is being created or edited. */
export interface ColumnDraft {
  templateId: TemplateId;
  header: string;
  /** The type of the values; null if each is shown as what it is. */
  format: Format | null;
  dependencies: Schemas['Dependency'][];
  aiConfig?: Schemas['AiConfigInput'];
  waterfall?: { providers: WaterfallProvider[]; inputMapping: Record<string, string> };
  scraper?: Schemas['WebScraper'];
  apiConfig?: Schemas['ApiConfig'];
  referenceConfig?: Schemas['ReferenceConfig'];
  runCondition: FilterNode[];
  maxAttempts: number;
  rateLimit: Schemas['RateLimit'] | null;
  cacheTtlSeconds: number;
  /** Whether columns were chosen for its inputs. It is not part of the column. */
  isGuessed?: boolean;
}

export type DraftPart = Partial<ColumnDraft>;

const COMMON = { format: null, dependencies: [], runCondition: [], maxAttempts: 5, rateLimit: null, cacheTtlSeconds: 0 };

export const MAPPING_KEYS = ['first_name', 'last_name', 'full_name', 'domain'] as const;
/** The API's names for the fields of a waterfall. */
export const MAPPING = 'taskConfig.waterfallEmail.inputMapping';
export const PROVIDERS = 'taskConfig.waterfallEmail.providers';

/** A new column with its template's defaults. */
export function newDraft(templateId: TemplateId, header: string, providers: readonly Provider[]): ColumnDraft {
  const draft: ColumnDraft = { ...COMMON, templateId, header };
  switch (templateId) {
    case 'ai-text':
      return { ...draft, aiConfig: { prompt: '' } };
    case 'ai-json':
      return { ...draft, aiConfig: { prompt: '', outputSchema: null } };
    case 'ai-research':
      return { ...draft, aiConfig: { prompt: '', research: {} } };
    case 'waterfall-email':
      return { ...draft, waterfall: { providers: defaultProviders(providers), inputMapping: emptyMapping() } };
    case 'web-scraper':
      return {
        ...draft,
        scraper: { url: '', formats: ['markdown'], onlyMainContent: true, respectRobots: true, timeoutSeconds: 30 },
      };
    case 'http-api':
      return {
        ...draft,
        apiConfig: { method: 'GET', url: '', headers: {}, query: {}, successStatuses: ['200..299'], emptyOn: [404], timeoutSeconds: 30 },
      };
    case 'reference':
      return { ...draft, referenceConfig: { columnId: '', path: '' } };
    default:
      return draft;
  }
}

/** What each input of a finder is called in a table. */
export const MAPPING_LABELS: Record<(typeof MAPPING_KEYS)[number], string> = {
  first_name: 'First name',
  last_name: 'Last name',
  full_name: 'Full name',
  domain: 'Company website or domain',
};
/** What to look for in headers, if it is not the label. */
const LOOK_FOR: Partial<typeof MAPPING_LABELS> = { domain: 'Website' };

/** A new waterfall with the columns that fit its inputs. */
export function withGuessedInputs(draft: ColumnDraft, columns: readonly Column[], sample: (columnId: string) => Json[]): ColumnDraft {
  if (!draft.waterfall) return draft;
  const nameOf = (key: (typeof MAPPING_KEYS)[number]) => LOOK_FOR[key] ?? MAPPING_LABELS[key];
  const guesses = guessColumns(MAPPING_KEYS.map(nameOf), columns, sample);
  const hasParts = guesses[nameOf('first_name')] && guesses[nameOf('last_name')];
  // A full name is of use only where its parts are missing.
  const keys = MAPPING_KEYS.filter((key) => guesses[nameOf(key)] && !(key === 'full_name' && hasParts));
  const found = Object.fromEntries(keys.map((key) => [key, `@{${guesses[nameOf(key)]?.columnId}}`]));
  return { ...draft, waterfall: { ...draft.waterfall, inputMapping: { ...draft.waterfall.inputMapping, ...found } }, isGuessed: keys.length > 0 };
}

export function draftOf(column: Column): ColumnDraft {
  const { taskConfig } = column;
  return {
    templateId: templateOf(column),
    header: column.header,
    format: column.format ?? null,
    dependencies: column.dependencies,
    ...(column.aiConfig && { aiConfig: column.aiConfig }),
    ...(taskConfig?.waterfallEmail && {
      waterfall: {
        providers: taskConfig.waterfallEmail.providers,
        inputMapping: { ...emptyMapping(), ...taskConfig.waterfallEmail.inputMapping },
      },
    }),
    ...(taskConfig?.webScraper && { scraper: taskConfig.webScraper }),
    ...(column.apiConfig && { apiConfig: column.apiConfig }),
    ...(column.referenceConfig && { referenceConfig: column.referenceConfig }),
    runCondition: column.runCondition as FilterNode[],
    maxAttempts: column.retry.maxAttempts,
    rateLimit: column.rateLimit ?? null,
    cacheTtlSeconds: column.cacheTtlSeconds,
  };
}

/** Whether the draft differs from its start. Text that was typed and removed again does not count. */
export function hasChanges(start: ColumnDraft, changes: DraftPart): boolean {
  return Object.entries(changes).some(([part, value]) => JSON.stringify(value) !== JSON.stringify(start[part as keyof ColumnDraft]));
}

/** The changes made after these were sent. */
export function changedSince(sent: DraftPart, now: DraftPart): DraftPart {
  const later = Object.entries(now).filter(([part, value]) => value !== sent[part as keyof DraftPart]);
  return Object.fromEntries(later) as DraftPart;
}

/** The draft as a request body, for creating, changing and trying a column. */
export function toBody(draft: ColumnDraft): ColumnCreate {
  const { templateId, header, waterfall, scraper } = draft;
  const isRun = templateId !== 'manual' && templateId !== 'reference';
  return {
    templateId,
    header: header.trim(),
    format: draft.format,
    dependencies: draft.dependencies,
    ...(draft.aiConfig && { aiConfig: draft.aiConfig }),
    ...(waterfall && { taskConfig: { taskType: 'waterfallEmail', waterfallEmail: { waterfallType: 'email', ...waterfall } } }),
    ...(scraper && { taskConfig: { taskType: 'webScraper', webScraper: scraper } }),
    ...(draft.apiConfig && { apiConfig: draft.apiConfig }),
    ...(draft.referenceConfig && { referenceConfig: draft.referenceConfig }),
    ...(isRun && {
      runCondition: completeFilters(draft.runCondition) as ColumnCreate['runCondition'],
      retry: { maxAttempts: draft.maxAttempts },
      rateLimit: draft.rateLimit,
      cacheTtlSeconds: draft.cacheTtlSeconds,
    }),
  };
}

/** Configured finders come first and are on. The pattern guesser comes last and is off. */
function defaultProviders(providers: readonly Provider[]): WaterfallProvider[] {
  const finders = providers.filter((provider) => provider.kind === 'finder' && provider.id !== 'pattern');
  const sorted = [...finders.filter(({ configured }) => configured), ...finders.filter(({ configured }) => !configured)];
  const entries = sorted.map(({ id, configured }) => ({ id: `${id}-default`, taskType: id, enabled: configured }));
  return [...entries, { id: 'pattern-default', taskType: 'pattern', enabled: false }].map((entry, order) => ({ ...entry, order }));
}

function emptyMapping(): Record<string, string> {
  return Object.fromEntries(MAPPING_KEYS.map((key) => [key, '']));
}

/** Required fields that are empty, with the message to show at each. */
export function missingFields(draft: ColumnDraft): Record<string, string> {
  const { aiConfig, apiConfig, referenceConfig, scraper, waterfall } = draft;
  const { lackedName, lacksDomain } = missingFinderInputs(waterfall?.inputMapping ?? {});
  const lacks: [string, boolean, string][] = [
    ['header', !draft.header.trim(), 'Give the column a name.'],
    ['aiConfig.prompt', aiConfig !== undefined && !aiConfig.prompt?.trim(), 'Enter a prompt.'],
    ['apiConfig.url', apiConfig !== undefined && !apiConfig.url.trim(), 'Enter a URL.'],
    ['taskConfig.webScraper.url', scraper !== undefined && !scraper.url.trim(), 'Enter the URL of a page.'],
    [`${MAPPING}.${lackedName}`, waterfall !== undefined && lackedName !== undefined, 'Choose a column for the full name, or for first and last name.'],
    [`${MAPPING}.domain`, waterfall !== undefined && lacksDomain, 'Choose a column for the company’s website or domain.'],
    [PROVIDERS, waterfall?.providers.every(({ enabled }) => !enabled) ?? false, 'Turn on at least one provider.'],
    ['referenceConfig.columnId', referenceConfig?.columnId === '', 'Choose a source column.'],
    ['referenceConfig.path', referenceConfig?.path.trim() === '', 'Enter a path, or $ for the whole value.'],
  ];
  return Object.fromEntries(lacks.filter(([, isMissing]) => isMissing).map(([field, , message]) => [field, message]));
}

/** Missing inputs of a finder. It needs a domain, and the full name or first and last name. */
export function missingFinderInputs(mapping: Record<string, string>): { lackedName?: (typeof MAPPING_KEYS)[number]; lacksDomain: boolean } {
  const has = (key: (typeof MAPPING_KEYS)[number]) => Boolean(mapping[key]?.trim());
  const lacksDomain = !has('domain');
  if (has('full_name') || (has('first_name') && has('last_name'))) return { lacksDomain };
  if (has('first_name')) return { lackedName: 'last_name', lacksDomain };
  return { lackedName: has('last_name') ? 'first_name' : 'full_name', lacksDomain };
}
