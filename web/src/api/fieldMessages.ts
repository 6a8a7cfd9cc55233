/** One field the service rejected, and why. */
export interface FieldProblem {
  path: string;
  message: string;
}

/** What the page calls the fields that the service names. The first that fits counts. */
const LABELS: [RegExp, string][] = [
  [/^header$/, 'Header'],
  [/^aiConfig\.prompt$/, 'Prompt'],
  [/^aiConfig\.system$/, 'System text'],
  [/^aiConfig\.provider$/, 'Provider'],
  [/^aiConfig\.model$/, 'Model'],
  [/^aiConfig\.temperature$/, 'Temperature'],
  [/^aiConfig\.maxTokens$/, 'Longest answer'],
  [/^aiConfig\.outputSchema/, 'Shape of the answer'],
  [/^apiConfig\.url$/, 'Address'],
  [/^apiConfig\.method$/, 'Method'],
  [/^apiConfig\.headers/, 'Headers'],
  [/^apiConfig\.query/, 'Query parameters'],
  [/^apiConfig\.body/, 'Body'],
  [/^apiConfig\.responsePath$/, 'Keep only this part of the answer'],
  [/^apiConfig\.successStatuses/, 'Statuses that are a success'],
  [/^apiConfig\.emptyOn/, 'Statuses that mean “nothing found”'],
  [/timeoutSeconds$/, 'Give up after'],
  [/^(aiConfig|apiConfig|taskConfig|referenceConfig)$/, 'Settings of another kind of column'],
  [/^dependencies$/, 'What it waits for'],
  [/^dataShape$/, 'Kind of value'],
  [/^taskConfig\.taskType$|waterfallType$/, 'Kind of task'],
  [/^referenceConfig\.columnId$/, 'Take a part of'],
  [/^referenceConfig\.path$/, 'Path'],
  [/webScraper\.url$/, 'Address of the page'],
  [/webScraper\.formats/, 'What to keep'],
  [/webScraper\.(onlyMainContent|respectRobots)$/, 'How the page is read'],
  [/^taskConfig\.(webScraper|waterfallEmail)$/, 'Settings of another task'],
  [/waterfallEmail\.inputMapping/, 'What to search by'],
  [/waterfallEmail\.providers/, 'Who is asked'],
  [/^retry/, 'Tries at most'],
  [/^rateLimit$/, 'Rate limit'],
  [/^rateLimit\.requests$/, 'Requests'],
  [/^rateLimit\.perSeconds$/, 'In so many seconds'],
  [/^cacheTtlSeconds$/, 'Reuse answers for'],
  [/^runCondition/, 'Run only where'],
  [/^filters/, 'Filter'],
  [/^sorting/, 'Sorting'],
  [/^matchOn$/, 'Rows that are there already'],
  [/^mapping$/, 'Where the parts of the file go'],
  [/^apiKey$/, 'API key'],
  [/^baseUrl$/, 'Base address'],
  [/^model$/, 'Default model'],
  [/^slug$/, 'Slug'],
  [/^(name|title)$/, 'Name'],
  [/^value$/, 'Value'],
  [/eventplatform\.eventId$/, 'Event id at the platform'],
  [/eventplatform\.eventName$/, 'Name of the event'],
  [/eventplatform\.signingSecret$/, 'Signing secret'],
];

/** What the page calls a field, if it has a name for it. */
export function labelOf(path: string): string | undefined {
  const field = fieldOf({ path, message: '' });
  return LABELS.find(([pattern]) => pattern.test(field))?.[1];
}

/** What is said of a field better than by the service. */
const MESSAGES: [field: RegExp, told: RegExp, better: string][] = [
  [/^apiConfig\.(successStatuses|emptyOn)/, /pattern/, 'must be numbers such as 200, or ranges such as 200..299'],
  [/^slug$/, /pattern/, 'must begin with a letter or a digit, and have only small letters, digits and hyphens'],
  [/^cells\.rowId$/, /^names no row/, 'this row was deleted meanwhile'],
];

/** The field an offence is about, as a form knows it: without places in lists, and as if the column stood alone. */
export function fieldOf({ path }: FieldProblem): string {
  return path.replace(/^column\./, '').replace(/\[\d+\]/g, '');
}

/** What is wrong with a field, beside which it is shown. */
export function fieldMessage(offence: FieldProblem): string {
  const words = wordsOf(offence);
  return ended(words.slice(0, 1).toUpperCase() + words.slice(1));
}

/** An offence as a sentence that names the field as the page does. */
export function problemSentence(offence: FieldProblem): string {
  const label = labelOf(offence.path);
  const words = wordsOf(offence);
  if (!label) return fieldMessage(offence);
  return ended(/^[A-Z]/.test(words) ? `${label}: ${words}` : `${label} ${words}`);
}

function wordsOf(offence: FieldProblem): string {
  const field = fieldOf(offence);
  const better = MESSAGES.find(([pattern, told]) => pattern.test(field) && told.test(offence.message))?.[2];
  // Of a pattern that cannot be read, only why.
  return better ?? withoutLimitNames(offence.message).replace('regular expression', 'pattern').replace(/regex parse error:[\s\S]*error: /, '');
}

/** Without the names by which settings call limits. */
export function withoutLimitNames(message: string): string {
  return message.replace(/ \([a-z]+[A-Za-z]*Max\)/g, '');
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
