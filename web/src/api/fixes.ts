import { labelOf } from './fieldMessages';

type Say = (...parts: string[]) => string;

const TEXT = '"([^"]*)"';
const REMOVED = 'so it was removed';
const MEANT = `(?: \\(did you mean ${TEXT}\\?\\))?`;
const hint = (meant: string | undefined) => (meant ? ` (did you mean “${meant}”?)` : '');
/** A field's label in quotation marks. */
const field = (path = '') => `“${(labelOf(path) ?? path).replace('“', '‘').replace('”', '’')}”`;
/** The column a sentence is about, if it is not the current one. */
const whose = (header: string | undefined) => (header ? `“${header}”` : 'The column');

/** The service's messages about corrections, and the page's wording of each. */
const SENTENCES: [RegExp, Say][] = [
  [/^Renamed header "(.*)" to "(.*)", because another column already uses it$/, (old, now) => `Another column is already called “${old}”, so this one was renamed to “${now}”`],
  [/^Removed duplicate dependency on (.+)$/, (name) => `Removed a duplicate dependency on ${name}`],
  [/^Removed dependency on the column itself$/, () => 'A column cannot depend on itself, so that dependency was removed'],
  [/^Removed dependency on (.+), because it would create a cycle$/, (name) => `The column cannot depend on ${name}, which already depends on it, ${REMOVED}`],
  [
    new RegExp(`^Removed dependency on unknown (column .+?)${MEANT}$`),
    (name, meant) => `The column cannot depend on the ${name}, which does not exist, ${REMOVED}${hint(meant)}`,
  ],
  [
    new RegExp(`^Removed dependency on deleted column ${TEXT}(?: in column ${TEXT})?$`),
    (gone, column) => `${whose(column)} no longer depends on “${gone}”, which was deleted`,
  ],
  [/^Rewrote dependency .+ to (.+)$/, (name) => `The column depends on ${name}`],
  [/^Added required dependency on (.+), which the column refers to$/, (name) => `The column now depends on ${name}, because it refers to it`],
  [/^Rewrote reference (.+) to .+ in (\S+)$/, (name, place) => `In ${field(place)}, ${name} was linked to its column`],
  [/^Rewrote (.+) to .+ in (\S+)$/, (name, place) => `In ${field(place)}, ${name} was linked to its column`],
  [
    new RegExp(`^Cleared reference to unknown (column .+?) in (\\S+?)${MEANT}$`),
    (name, place, meant) => `${field(place)} referred to the ${name}, which does not exist, ${REMOVED}${hint(meant)}`,
  ],
  [
    new RegExp(`^Cleared reference to deleted column ${TEXT} in (\\S+)(?: in column ${TEXT})?$`),
    (gone, place, column) => `“${gone}” was deleted, ${REMOVED} from ${field(place)}${column ? ` in “${column}”` : ''}`,
  ],
  [/^Cleared reference to the column itself in (\S+)$/, (place) => `${field(place)} referred to the column itself, ${REMOVED}`],
  [/^Cleared reference to (.+) in (\S+), because it would create a cycle$/, (name, place) => `${field(place)} referred to ${name}, which depends on this column, ${REMOVED}`],
  [/^Cleared reference "(.+)" in (\S+), because its path is not valid$/, (name, place) => `${field(place)} referred to “${name}”, whose path is not valid, ${REMOVED}`],
  [/^Cleared reference "(.+)" in (\S+), because secrets .*$/, (name, place) => `${field(place)} referred to “${name}”. Secrets work only in HTTP columns, ${REMOVED}`],
  [/^Filled missing (\S+) from the template$/, (place) => `${field(place)} was missing and was set to its default`],
  [/^Removed (\S+), which (?:columns of|the input column) .*$/, (place) => `${field(place)} does not apply to this column type and was ignored`],
  [/^Removed the unknown key "(.+)" from inputMapping$/, (key) => `“${key}” is not a search input and was ignored`],
  [/^Removed a provider without an id$/, () => 'A provider without an ID was ignored'],
  [/^Merged the providers with the id "(.+)"$/, (id) => `“${id}” was listed twice; the entries were merged`],
  [/^Renumbered the order of providers from 0$/, () => 'The providers were renumbered in the same order'],
  [/^Disabled provider "(.+)", because .*$/, (id) => `“${id}” was turned off because this server does not support it`],
  [/^(?:Set|Reset) (\S+) .*$/, (place) => `${field(place)} was changed to fit this column type`],
  [/^Corrected order \d+ to (\d+)$/, (place) => (place === '1' ? 'The input column always comes first, so this one was placed after it' : 'The column was moved to the nearest possible position')],
  [/^Removed the filter on deleted column "(.*)" from view "(.*)"$/, (gone, view) => `The view “${view}” no longer filters by “${gone}”, which was deleted`],
  [/^Removed the sorting by deleted column "(.*)" from view "(.*)"$/, (gone, view) => `The view “${view}” no longer sorts by “${gone}”, which was deleted`],
  [/^Removed the visibility of deleted column "(.*)" from view "(.*)"$/, (gone, view) => `The view “${view}” no longer lists “${gone}”, which was deleted`],
  [
    new RegExp(`^Removed the run condition on deleted column ${TEXT}(, so that all rows run,)?(?: in column ${TEXT})?$`),
    (gone, all, column) => `${whose(column)} no longer has its run condition on “${gone}”, which was deleted${all ? ': all its rows run now' : ''}`,
  ],
];

/** A correction as the page words it. Unknown corrections are shown as the service wrote them. */
export function fixMessage(fix: string): string {
  const bare = fix.replace(/\.$/, '');
  for (const [pattern, say] of SENTENCES) {
    const match = pattern.exec(bare);
    if (match) return `${say(...match.slice(1))}.`;
  }
  return fix;
}

/** Whether a correction is worth a message. Added dependencies are not: the panel shows them. */
export function isWorthShowing(fix: string): boolean {
  return !/^Added required dependency on .+, which the column refers to\.?$/.test(fix);
}
