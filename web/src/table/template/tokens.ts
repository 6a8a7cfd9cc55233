import { stringifyJson } from '../../api/exactNumber';
import { fixMessage } from '../../api/fixes';
import type { Column } from '../../api/types';

/** A token of a template: plain text, or the reference between `@{` and `}`. */
export type Token = { text: string } | { reference: string };

const REFERENCE = /@\{([^{}]+)\}/g;

export function tokenize(template: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (const match of template.matchAll(REFERENCE)) {
    if (match.index > at) tokens.push({ text: template.slice(at, match.index) });
    tokens.push({ reference: match[1] ?? '' });
    at = match.index + match[0].length;
  }
  if (at < template.length) tokens.push({ text: template.slice(at) });
  return tokens;
}

/** The label of a reference's chip, or undefined if nothing has this name. */
export function referenceLabel(reference: string, columns: readonly Column[]): string | undefined {
  if (reference.startsWith('secret.')) return `secret ${reference.slice('secret.'.length)}`;
  const column = columns.find(({ id }) => reference === id || reference.startsWith(`${id}.`) || reference.startsWith(`${id}[`));
  if (column) return column.header + reference.slice(column.id.length).replace(/^\./, ' › ');
  const wanted = reference.trim().toLowerCase();
  return columns.find(({ header }) => header.trim().toLowerCase() === wanted)?.header;
}

/** The columns that a configuration refers to. */
export function referredColumns(config: unknown, columns: readonly Column[]): string[] {
  const texts = stringifyJson(config ?? null);
  const found = [...texts.matchAll(REFERENCE)].map((match) => match[1] ?? '');
  return columns
    .filter(({ id }) => found.some((reference) => reference === id || reference.startsWith(`${id}.`) || reference.startsWith(`${id}[`)))
    .map(({ id }) => id);
}

/** A correction in the page's words, with column headers instead of ids. */
export function withHeaders(fix: string, columns: readonly Column[]): string {
  const named = columns.reduce((words, { id, header }) => words.replaceAll(`"${id}"`, `“${header}”`), fixMessage(fix));
  return named.replace(/"([^"]*)"/g, '“$1”');
}
