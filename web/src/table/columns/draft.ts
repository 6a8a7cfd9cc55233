import type { components } from '../../../generated/schema';
import { stringifyJson } from '../../api/exactNumber';
import type { Column, ColumnCreate, FanOut, FilterNode, Format, Json, Provider, WaterfallProvider } from '../../api/types';
import { guessColumns } from '../model/guessColumns';
import { lookupKind, mappingPath, missingInputs, providersPath } from '../model/lookups';
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
  /** Of a column that asks providers in order. `limit` is the number of people to find. */
  waterfall?: { providers: WaterfallProvider[]; inputMapping: Record<string, string>; limit?: number };
  scraper?: Schemas['WebScraper'];
  fanOut?: FanOut;
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
    case 'verify-email':
    case 'find-company':
      return { ...draft, waterfall: newWaterfall(templateId, providers) };
    case 'find-people':
      return { ...draft, waterfall: { ...newWaterfall(templateId, providers), limit: 10 } };
    case 'web-scraper':
      return {
        ...draft,
        scraper: { url: '', formats: ['markdown'], onlyMainContent: true, respectRobots: true, timeoutSeconds: 30 },
      };
    case 'fan-out':
      return { ...draft, fanOut: { list: '', targetProjectId: '', mapping: {}, matchOn: '', limit: 1_000 } };
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

/** A new column that asks providers, with the columns that fit its inputs. */
export function withGuessedInputs(draft: ColumnDraft, columns: readonly Column[], sample: (columnId: string) => Json[]): ColumnDraft {
  if (!draft.waterfall) return draft;
  const inputs = lookupKind(draft.templateId).inputs.map(({ key, label, lookFor }) => ({ key, name: lookFor ?? label })).filter(({ name }) => name);
  const guesses = guessColumns(inputs.map(({ name }) => name), columns, sample);
  const has = (wanted: string) => inputs.some(({ key, name }) => key === wanted && guesses[name]);
  // A full name is of use only where its parts are missing, and a company's name where its domain is.
  const isUseless = (key: string) => (key === 'full_name' && has('first_name') && has('last_name')) || (key === 'name' && has('domain'));
  const chosen = inputs.filter(({ key, name }) => guesses[name] && !isUseless(key));
  const found = Object.fromEntries(chosen.map(({ key, name }) => [key, `@{${guesses[name]?.columnId}}`]));
  return { ...draft, waterfall: { ...draft.waterfall, inputMapping: { ...draft.waterfall.inputMapping, ...found } }, isGuessed: chosen.length > 0 };
}

export function draftOf(column: Column): ColumnDraft {
  const { taskConfig } = column;
  const templateId = templateOf(column);
  const asked = taskConfig?.waterfallEmail ?? taskConfig?.verifyEmail ?? taskConfig?.findCompany ?? taskConfig?.findPeople;
  return {
    templateId,
    header: column.header,
    format: column.format ?? null,
    dependencies: column.dependencies,
    ...(column.aiConfig && { aiConfig: column.aiConfig }),
    ...(asked && {
      waterfall: {
        providers: asked.providers,
        inputMapping: { ...emptyMapping(templateId), ...asked.inputMapping },
        ...(taskConfig?.findPeople && { limit: taskConfig.findPeople.limit }),
      },
    }),
    ...(taskConfig?.webScraper && { scraper: taskConfig.webScraper }),
    ...(taskConfig?.fanOut && { fanOut: taskConfig.fanOut }),
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
  return Object.entries(changes).some(([part, value]) => stringifyJson(value) !== stringifyJson(start[part as keyof ColumnDraft]));
}

/** The changes made after these were sent. */
export function changedSince(sent: DraftPart, now: DraftPart): DraftPart {
  const later = Object.entries(now).filter(([part, value]) => value !== sent[part as keyof DraftPart]);
  return Object.fromEntries(later) as DraftPart;
}

/** The draft as a request body, for creating, changing and trying a column. */
export function toBody(draft: ColumnDraft): ColumnCreate {
  const { templateId, header, waterfall, scraper, fanOut } = draft;
  const isRun = templateId !== 'manual' && templateId !== 'reference';
  return {
    templateId,
    header: header.trim(),
    format: draft.format,
    dependencies: draft.dependencies,
    ...(draft.aiConfig && { aiConfig: draft.aiConfig }),
    ...(waterfall && { taskConfig: taskOf(templateId, waterfall) }),
    ...(scraper && { taskConfig: { taskType: 'webScraper', webScraper: scraper } }),
    ...(fanOut && { taskConfig: { taskType: 'fanOut', fanOut } }),
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

function taskOf(templateId: TemplateId, waterfall: NonNullable<ColumnDraft['waterfall']>): ColumnCreate['taskConfig'] {
  const { task } = lookupKind(templateId);
  const config = task === 'waterfallEmail' ? { waterfallType: 'email', ...waterfall } : waterfall;
  return { taskType: task, [task]: config };
}

function newWaterfall(templateId: TemplateId, providers: readonly Provider[]): NonNullable<ColumnDraft['waterfall']> {
  return { providers: defaultProviders(templateId, providers), inputMapping: emptyMapping(templateId) };
}

/** What costs nothing comes first, then configured providers. These are on. The pattern guesser comes last and is off. */
function defaultProviders(templateId: TemplateId, providers: readonly Provider[]): WaterfallProvider[] {
  const { task } = lookupKind(templateId);
  const rank = ({ id, configured }: Provider) => (id === 'domaincheck' ? 0 : id === 'pattern' ? 3 : configured ? 1 : 2);
  const asked = providers.filter(({ tasks }) => tasks.includes(task)).sort((a, b) => rank(a) - rank(b));
  const isOn = ({ id, configured }: Provider) => configured && id !== 'pattern';
  return asked.map((provider, order) => ({ id: `${provider.id}-default`, taskType: provider.id, enabled: isOn(provider), order }));
}

function emptyMapping(templateId: TemplateId): Record<string, string> {
  return Object.fromEntries(lookupKind(templateId).inputs.map(({ key }) => [key, '']));
}

/** Required fields that are empty, with the message to show at each. */
export function missingFields(draft: ColumnDraft): Record<string, string> {
  const { aiConfig, apiConfig, fanOut, referenceConfig, scraper, waterfall } = draft;
  const { task } = lookupKind(draft.templateId);
  const inputs = Object.entries(waterfall ? missingInputs(task, waterfall.inputMapping) : {});
  const lacks: [string, boolean, string][] = [
    ['header', !draft.header.trim(), 'Give the column a name.'],
    ['aiConfig.prompt', aiConfig !== undefined && !aiConfig.prompt?.trim(), 'Enter a prompt.'],
    ['apiConfig.url', apiConfig !== undefined && !apiConfig.url.trim(), 'Enter a URL.'],
    ['taskConfig.webScraper.url', scraper !== undefined && !scraper.url.trim(), 'Enter the URL of a page.'],
    ...inputs.map(([key, message]): [string, boolean, string] => [`${mappingPath(task)}.${key}`, true, message]),
    [providersPath(task), waterfall?.providers.every(({ enabled }) => !enabled) ?? false, 'Turn on at least one provider.'],
    ['taskConfig.fanOut.list', fanOut?.list === '', 'Choose a column with a list.'],
    ['taskConfig.fanOut.targetProjectId', fanOut?.targetProjectId === '', 'Choose the project that gets the rows.'],
    ['taskConfig.fanOut.mapping', fanOut !== undefined && Object.values(fanOut.mapping).every((text) => !text.trim()), 'Fill at least one column.'],
    ['taskConfig.fanOut.matchOn', fanOut?.matchOn === '', 'Choose the column by which rows are found again.'],
    ['referenceConfig.columnId', referenceConfig?.columnId === '', 'Choose a source column.'],
    ['referenceConfig.path', referenceConfig?.path.trim() === '', 'Enter a path, or $ for the whole value.'],
  ];
  return Object.fromEntries(lacks.filter(([, isMissing]) => isMissing).map(([field, , message]) => [field, message]));
}
