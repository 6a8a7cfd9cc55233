import { isNumber } from '../../api/exactNumber';
import type { Column, Format, Json } from '../../api/types';
import { choiceColors } from './chipColors';

/** How a whole column shows its values. A single value says the rest, such as that it is a link. */
export interface ColumnStyle {
  kind: 'plain' | 'number' | 'checkbox' | 'select';
  /** Large numbers get thousands separators. */
  isGrouped: boolean;
  /** The type that somebody has chosen. */
  format?: Format;
  /** Colours of the known choices. */
  colors?: ReadonlyMap<string, number>;
}

export const PLAIN: ColumnStyle = { kind: 'plain', isGrouped: true };

/** Headers of numbers that name something and count nothing. */
const NAMES_SOMETHING = /(^|[^a-z])(ids?|year|zip|post(al)? ?code|plz|phone|mobile|tel|fax|code|nr|no|number|vat|iban|account)([^a-z]|$)/i;
/** Headers of columns whose values are names, even if they repeat. */
const IS_NAME = /(^|[^a-z])(name|company|organi[sz]ation|title|domain|employer)([^a-z]|$)/i;
/** `007` and `+49` are text: a number has no leading zero and no plus. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;
const YES_OR_NO = /^(true|false)$/i;

/** A column counts as a choice if few short values repeat in it. */
const CHOICES_MAX = 8;
const CHOICE_LETTERS_MAX = 24;
const CHOICE_ROWS_MIN = 8;
/** How often each choice occurs on average. */
const CHOICE_REPEATS_MIN = 3;

/**
 * Guesses how a column shows its values, from its header and from sample values. This is the only place that guesses for
 * a whole column; a format that somebody has chosen takes precedence here.
 */
export function guessStyle(column: Pick<Column, 'header' | 'dataShape' | 'format'>, samples: readonly Json[]): ColumnStyle {
  const isGrouped = !NAMES_SOMETHING.test(column.header);
  if (column.format) return { kind: 'plain', isGrouped, format: column.format };
  const filled = samples.filter((value) => value !== null && value !== '');
  const areAll = (is: (value: Json) => boolean) => filled.length > 0 && filled.every(is);
  if (areAll((value) => isNumber(value) || (typeof value === 'string' && NUMBER.test(value)))) return { kind: 'number', isGrouped };
  if (areAll((value) => typeof value === 'boolean' || (typeof value === 'string' && YES_OR_NO.test(value)))) return { kind: 'checkbox', isGrouped };
  if (!IS_NAME.test(column.header) && isChoice(filled)) return { kind: 'select', isGrouped, colors: choiceColors(filled.map((value) => String(value).trim())) };
  return { kind: 'plain', isGrouped };
}

function isChoice(filled: readonly Json[]): boolean {
  if (filled.length < CHOICE_ROWS_MIN) return false;
  if (!filled.every((value) => typeof value === 'string' && value.length <= CHOICE_LETTERS_MAX && !/[@\n]|:\/\/|\d{3}/.test(value))) return false;
  const choices = new Set(filled).size;
  return choices > 1 && choices <= CHOICES_MAX && filled.length >= choices * CHOICE_REPEATS_MIN;
}
