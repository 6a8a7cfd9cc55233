/** One field the service rejected, and why. */
export interface FieldProblem {
  path: string;
  message: string;
}

/** Labels of the API's fields. The first match counts. */
const LABELS: [RegExp, string][] = [
  [/^header$/, 'Header'],
  [/^aiConfig\.prompt$/, 'Prompt'],
  [/^aiConfig\.system$/, 'System prompt'],
  [/^aiConfig\.provider$/, 'Provider'],
  [/^aiConfig\.model$/, 'Model'],
  [/^aiConfig\.temperature$/, 'Temperature'],
  [/^aiConfig\.maxTokens$/, 'Maximum tokens'],
  [/^aiConfig\.outputSchema/, 'Output schema'],
  [/^aiConfig\.processing$/, 'Process'],
  [/^aiConfig\.fallback\.model$/, 'Fallback model'],
  [/^aiConfig\.fallback/, 'Fallback provider'],
  [/^apiConfig\.url$/, 'URL'],
  [/^apiConfig\.method$/, 'Method'],
  [/^apiConfig\.headers/, 'Headers'],
  [/^apiConfig\.query/, 'Query parameters'],
  [/^apiConfig\.body/, 'Body'],
  [/^apiConfig\.responsePath$/, 'Response path'],
  [/^apiConfig\.successStatuses/, 'Success statuses'],
  [/^apiConfig\.emptyOn/, '“Nothing found” statuses'],
  [/timeoutSeconds$/, 'Timeout'],
  [/^(aiConfig|apiConfig|taskConfig|referenceConfig)$/, 'Settings for another column type'],
  [/^dependencies$/, 'Dependencies'],
  [/^dataShape$/, 'Data shape'],
  [/^format\.options/, 'Options'],
  [/^format/, 'Type of the values'],
  [/^taskConfig\.taskType$|waterfallType$/, 'Task type'],
  [/^referenceConfig\.columnId$/, 'Source column'],
  [/^referenceConfig\.path$/, 'Path'],
  [/research\.searchProviders/, 'Search with'],
  [/research\.country$/, 'Country'],
  [/research\.max(Steps|Calls|Searches|InputTokens|OutputTokens|Seconds|Cost)$/, 'Limits'],
  [/aiConfig\.research/, 'Research'],
  [/webScraper\.url$/, 'Page URL'],
  [/webScraper\.formats/, 'Formats'],
  [/webScraper\.maxChars$/, 'Maximum length'],
  [/webScraper\.selectors\.include/, 'Only these parts'],
  [/webScraper\.selectors\.exclude/, 'Without these parts'],
  [/webScraper\.crawl\.include/, 'Only these pages'],
  [/webScraper\.crawl\.exclude/, 'Without these pages'],
  [/webScraper\.crawl\.maxPages$/, 'Maximum pages'],
  [/webScraper\.crawl/, 'More pages of the site'],
  [/webScraper\.render$/, 'Browser'],
  [/webScraper\.(onlyMainContent|respectRobots)$/, 'Page options'],
  [/^taskConfig\.(webScraper|waterfallEmail|verifyEmail|findCompany|findPeople|fanOut)$/, 'Settings for another task'],
  [/fanOut\.list$/, 'List'],
  [/fanOut\.targetProjectId$/, 'Target table'],
  [/fanOut\.mapping/, 'Columns to fill'],
  [/fanOut\.matchOn$/, 'Find rows again by'],
  [/fanOut\.limit$/, 'Maximum number of items'],
  [/findPeople\.limit$/, 'Maximum number of people'],
  [/(waterfallEmail|verifyEmail|findCompany|findPeople)\.inputMapping/, 'Search inputs'],
  [/(waterfallEmail|verifyEmail|findCompany|findPeople)\.providers/, 'Providers'],
  [/^retry/, 'Maximum attempts'],
  [/^rateLimit$/, 'Rate limit'],
  [/^rateLimit\.requests$/, 'Requests'],
  [/^rateLimit\.perSeconds$/, 'Period in seconds'],
  [/^cacheTtlSeconds$/, 'Cache answers for'],
  [/^runCondition/, 'Run condition'],
  [/^filters/, 'Filter'],
  [/^sorting/, 'Sorting'],
  [/^matchOn$/, 'Existing rows'],
  [/^mapping$/, 'Column mapping'],
  [/^apiKey$/, 'API key'],
  [/^scopes/, 'Scopes'],
  [/^projectIds/, 'Projects'],
  [/^(expiresAt|oldExpiresAt)$/, 'Expiry'],
  [/^allowFrom/, 'Allowed addresses'],
  [/^baseUrl$/, 'Base URL'],
  [/^model$/, 'Default model'],
  [/^slug$/, 'Slug'],
  [/^(name|title)$/, 'Name'],
  [/^value$/, 'Value'],
  [/eventplatform\.eventId$/, 'Event ID'],
  [/eventplatform\.eventName$/, 'Event name'],
  [/eventplatform\.signingSecret$/, 'Signing secret'],
];

/** What the page calls a field, if it has a name for it. */
export function labelOf(path: string): string | undefined {
  const field = fieldOf({ path, message: '' });
  return LABELS.find(([pattern]) => pattern.test(field))?.[1];
}

/** Messages that replace those of the service. */
const MESSAGES: [field: RegExp, told: RegExp, better: string][] = [
  [/^apiConfig\.(successStatuses|emptyOn)/, /pattern/, 'must be numbers such as 200, or ranges such as 200..299'],
  [/^slug$/, /pattern/, 'must start with a letter or digit and contain only lowercase letters, digits and hyphens'],
  [/^cells\.rowId$/, /^is not a row/, 'this row was deleted in the meantime'],
];

/** The field a problem is about, as a form names it: without list indices and the `column.` prefix. */
export function fieldOf({ path }: FieldProblem): string {
  return path.replace(/^column\./, '').replace(/\[\d+\]/g, '');
}

/** The message to show next to a field. */
export function fieldMessage(offence: FieldProblem): string {
  const words = wordsOf(offence);
  return ended(words.slice(0, 1).toUpperCase() + words.slice(1));
}

/** A problem as a sentence that starts with the field's label. */
export function problemSentence(offence: FieldProblem): string {
  const label = labelOf(offence.path);
  const words = wordsOf(offence);
  if (!label) return fieldMessage(offence);
  return ended(/^[A-Z]/.test(words) ? `${label}: ${words}` : `${label} ${words}`);
}

function wordsOf(offence: FieldProblem): string {
  const field = fieldOf(offence);
  const better = MESSAGES.find(([pattern, told]) => pattern.test(field) && told.test(offence.message))?.[2];
  return better ?? withoutLimitNames(offence.message).replace(/ \(pattern .*\)$/, '');
}

/** A message without the names of limits, such as `(rowsMax)`. */
export function withoutLimitNames(message: string): string {
  return message.replace(/ \([a-z]+[A-Za-z]*Max\)/g, '');
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
