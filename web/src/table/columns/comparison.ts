import type { CompareBody, ComparedCell, ComparedVariant, Row } from '../../api/types';
import { formatDollars, formatMilliseconds } from '../../ui/format';
import { displayOf, drawnLine } from '../display/display';
import { isEmptyResult, shortMessage } from '../model/cellStatus';
import { type ColumnDraft, toBody } from './draft';

export const VARIANTS_MAX = 6;
export const COMPARED_ROWS_MAX = 20;

export type Scoring = NonNullable<CompareBody['expected']>['scoring'];
export type AiConfig = NonNullable<ColumnDraft['aiConfig']>;

/** A prompt or model to compare. */
export interface Variant {
  prompt: string;
  provider: AiConfig['provider'];
  model: string;
}

/** What is compared, as the form has it. */
export interface CompareForm {
  variants: Variant[];
  /** Number of rows. */
  rows: number;
  /** The column with the right answers; empty for none. */
  expectedId: string;
  scoring: Scoring;
  /** Empty: the model of the first variant judges. */
  judgeModel: string;
}

export const SCORINGS: { value: Scoring; label: string }[] = [
  { value: 'exact', label: 'Exactly the same' },
  { value: 'contains', label: 'Contains the expected text' },
  { value: 'json', label: 'Share of equal JSON fields' },
  { value: 'judge', label: 'Judged by a model' },
];

export function variantOf({ prompt, provider, model }: AiConfig): Variant {
  return { prompt: prompt ?? '', provider: provider ?? null, model: model ?? '' };
}

/** The name of a variant by its place. */
export function variantName(place: number): string {
  return `Variant ${String.fromCharCode(65 + place)}`;
}

/** The form as a request body. Without rows the service takes the first ones. */
export function compareBody(draft: ColumnDraft, columnId: string | undefined, form: CompareForm, rowIds: readonly string[]): CompareBody {
  const { variants, rows, expectedId, scoring, judgeModel } = form;
  return {
    column: toBody(draft),
    ...(columnId && { columnId }),
    variants: variants.map(({ prompt, provider, model }, place) => ({
      name: variantName(place),
      aiConfig: { prompt, provider: provider ?? null, model: model.trim() || null },
    })),
    ...(rowIds.length > 0 ? { rowIds: [...rowIds] } : { rows }),
    ...(expectedId && {
      expected: { columnId: expectedId, scoring, ...(scoring === 'judge' && judgeModel.trim() && { judgeModel: judgeModel.trim() }) },
    }),
  };
}

/** Rows to compare on: the first of those with an expected answer. */
export function sampleRows(rows: readonly Row[], expectedId: string, count: number): Row[] {
  const hasAnswer = ({ cells }: Row) => {
    const value = cells[expectedId]?.value ?? null;
    return value !== null && value !== '';
  };
  return rows.filter((row) => !expectedId || hasAnswer(row)).slice(0, count);
}

/** The value of a cell, or why there is none. */
export function cellText({ status, value = null, error }: ComparedCell): string {
  if (error) return shortMessage(error.message);
  return isEmptyResult({ status, value }) ? 'Nothing found' : drawnLine(displayOf(value));
}

/** `80 % of 5 rows`. */
export function scoreText({ score, scored }: Pick<ComparedVariant, 'score' | 'scored'>): string {
  if (score === undefined) return 'Not scored';
  return `${Math.round(score * 100)} % of ${scored} ${scored === 1 ? 'row' : 'rows'}`;
}

export function costText({ usdPer1000Rows }: Pick<ComparedVariant, 'usdPer1000Rows'>): string {
  return usdPer1000Rows === undefined ? 'Unknown' : formatDollars(usdPer1000Rows);
}

export function timeText({ milliseconds }: Pick<ComparedVariant, 'milliseconds'>): string {
  return milliseconds === undefined ? '' : formatMilliseconds(milliseconds);
}
