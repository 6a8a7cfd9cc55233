import { fixMessage } from '../../api/fixes';
import type { Column } from '../../api/types';

/** A piece of a template: text as it is, or a reference as it is written between `@{` and `}`. */
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

/** What a reference is called on a chip, or undefined if nothing has this name. */
export function referenceLabel(reference: string, columns: readonly Column[]): string | undefined {
  if (reference.startsWith('secret.')) return `secret ${reference.slice('secret.'.length)}`;
  const column = columns.find(({ id }) => reference === id || reference.startsWith(`${id}.`) || reference.startsWith(`${id}[`));
  if (column) return column.header + reference.slice(column.id.length).replace(/^\./, ' › ');
  const wanted = reference.trim().toLowerCase();
  return columns.find(({ header }) => header.trim().toLowerCase() === wanted)?.header;
}

/** The columns anything in a configuration refers to. */
export function referredColumns(config: unknown, columns: readonly Column[]): string[] {
  const texts = JSON.stringify(config ?? null);
  const found = [...texts.matchAll(REFERENCE)].map((match) => match[1] ?? '');
  return columns
    .filter(({ id }) => found.some((reference) => reference === id || reference.startsWith(`${id}.`) || reference.startsWith(`${id}[`)))
    .map(({ id }) => id);
}

/** What the service put right, in the page's words, with columns by their headers instead of their ids. */
export function withHeaders(fix: string, columns: readonly Column[]): string {
  const named = columns.reduce((words, { id, header }) => words.replaceAll(`"${id}"`, `“${header}”`), fixMessage(fix));
  return named.replace(/"([^"]*)"/g, '“$1”');
}
