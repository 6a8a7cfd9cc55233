import { labelOf } from './fieldMessages';

type Say = (...parts: string[]) => string;

const TEXT = '"([^"]*)"';
const TAKEN_OUT = 'so it was taken out';
/** A field by its name, in quotation marks. */
const field = (path = '') => `“${(labelOf(path) ?? path).replace('“', '‘').replace('”', '’')}”`;
/** The column a sentence is about, where it is not the one at hand. */
const whose = (header: string | undefined) => (header ? `“${header}”` : 'The column');

/** What the service says it put right, and how the page says the same. */
const SENTENCES: [RegExp, Say][] = [
  [/^Renamed header "(.*)" to "(.*)", because another column has it$/, (old, now) => `Another column is called “${old}” already, so this one is now “${now}”`],
  [/^Removed twin dependency on (.+)$/, (name) => `${name} was twice among what the column waits for; once is enough`],
  [/^Removed dependency on the column itself$/, () => 'A column cannot wait for itself, so that was taken out'],
  [/^Removed dependency on (.+), which would close a circle$/, (name) => `The column cannot wait for ${name}, which waits for it already, ${TAKEN_OUT}`],
  [/^Removed dependency on unknown (column .+)$/, (name) => `The column cannot wait for the ${name}, which does not exist, ${TAKEN_OUT}`],
  [
    new RegExp(`^Removed dependency on deleted column ${TEXT}(?: in column ${TEXT})?$`),
    (gone, column) => `${whose(column)} no longer waits for “${gone}”, which was deleted`,
  ],
  [/^Rewrote dependency on .+ to (.+)$/, (name) => `The column waits for ${name}`],
  [/^Added required dependency on (.+), which the column refers to$/, (name) => `The column now waits for ${name}, because it uses it`],
  [/^Rewrote reference (.+) to .+ in (\S+)$/, (name, place) => `In ${field(place)}, ${name} was joined to its column`],
  [/^Rewrote (.+) to .+ in (\S+)$/, (name, place) => `In ${field(place)}, ${name} was joined to its column`],
  [/^Blanked reference to unknown (column .+) in (\S+)$/, (name, place) => `${field(place)} named the ${name}, which does not exist, ${TAKEN_OUT}`],
  [
    new RegExp(`^Blanked reference to deleted column ${TEXT} in (\\S+)(?: in column ${TEXT})?$`),
    (gone, place, column) => `“${gone}” was deleted, ${TAKEN_OUT} of ${field(place)}${column ? ` in “${column}”` : ''}`,
  ],
  [/^Blanked reference to the column itself in (\S+)$/, (place) => `${field(place)} named the column itself, ${TAKEN_OUT}`],
  [/^Blanked reference to (.+) in (\S+), because it would close a circle$/, (name, place) => `${field(place)} named ${name}, which waits for this column, ${TAKEN_OUT}`],
  [/^Blanked reference "(.+)" in (\S+), because its path cannot be read$/, (name, place) => `${field(place)} named “${name}”, which leads nowhere, ${TAKEN_OUT}`],
  [/^Blanked reference "(.+)" in (\S+), because secrets .*$/, (name, place) => `${field(place)} named “${name}”. Secrets work in HTTP columns only, ${TAKEN_OUT}`],
  [/^Filled missing (\S+) from the template$/, (place) => `${field(place)} was missing, and is now as in a new column`],
  [/^Dropped (\S+), which (?:a column|the input column) .*$/, (place) => `${field(place)} does not belong to a column of this kind, and was left out`],
  [/^Dropped "(.+)" from inputMapping, which has no such key$/, (key) => `“${key}” is nothing to search by, and was left out`],
  [/^Dropped a provider without an id$/, () => 'A provider without a name was left out'],
  [/^Merged the providers with the id "(.+)"$/, (id) => `“${id}” was twice in the list; it is asked once`],
  [/^Renumbered the order of providers from 0$/, () => 'The providers were numbered anew, in the same order'],
  [/^Disabled provider "(.+)", because .*$/, (id) => `“${id}” was switched off, because this server does not know it`],
  [/^Set (\S+) .*$/, (place) => `${field(place)} was set to what fits a column of this kind`],
  [/^Corrected order \d+ to (\d+)$/, (place) => (place === '1' ? 'The first place belongs to the input column, so this one stands next to it' : 'The column stands as near to its place as it can')],
  [/^Removed the filter on deleted column "(.*)" from view "(.*)"$/, (gone, view) => `The view “${view}” no longer filters by “${gone}”, which was deleted`],
  [/^Removed the sorting by deleted column "(.*)" from view "(.*)"$/, (gone, view) => `The view “${view}” no longer sorts by “${gone}”, which was deleted`],
  [/^Removed the visibility of deleted column "(.*)" from view "(.*)"$/, (gone, view) => `The view “${view}” forgot “${gone}”, which was deleted`],
  [
    new RegExp(`^Removed the run condition on deleted column ${TEXT}(?: in column ${TEXT})?$`),
    (gone, column) => `${whose(column)} runs without its condition on “${gone}”, which was deleted`,
  ],
];

/** A correction in the page's words. What is not known here is told as it came. */
export function fixMessage(fix: string): string {
  const bare = fix.replace(/\.$/, '');
  for (const [pattern, say] of SENTENCES) {
    const match = pattern.exec(bare);
    if (match) return `${say(...match.slice(1))}.`;
  }
  return fix;
}

/** Whether it is news: that a column waits for what somebody made it use is none, and the panel shows it. */
export function isWorthShowing(fix: string): boolean {
  return !/^Added required dependency on .+, which the column refers to\.?$/.test(fix);
}
