import { parseJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { isJson, toText } from '../model/values';
import { isTooWide, sampleCsv } from './csv';
import { encodingOf } from './encoding';
import { isEscapedFormula } from './formulas';

export interface Preview {
  file: File;
  encoding: string;
  /** CSV may have a header line; in JSON Lines every value has a name. */
  isCsv: boolean;
  delimiter: string;
  rows: string[][];
  /** More rows than are shown, for guessing types. */
  samples: string[][];
  /** Whether cells start with the apostrophe that our export puts before formulas. */
  hasMarks: boolean;
  /** Rows with more cells than the first line, among the lines that were read. */
  wideRows: number;
  linesLookedAt: number;
  isAllLookedAt: boolean;
}

const SAMPLE_BYTES = 128 * 1024;
const ROWS_MAX = 6;
const SAMPLE_ROWS_MAX = 301;
/** Number of rows to check for apostrophes and for too many cells. */
const LOOKED_AT_MAX = 1000;

/** Reads only the first rows of a file. Detects its encoding unless one is given. */
export async function readPreview(file: File, chosen?: string): Promise<Preview> {
  if (file.size === 0) throw new Error('This file is empty. Choose another one.');
  const head = new Uint8Array(await file.slice(0, SAMPLE_BYTES).arrayBuffer());
  const encoding = chosen ?? (await encodingOf(file, head));
  const isWhole = file.size <= SAMPLE_BYTES;
  const text = new TextDecoder(encoding).decode(head, { stream: !isWhole });
  const known = { file, encoding };
  if (isJsonLines(file)) {
    const samples = sampleJsonLines(text);
    return { ...known, isCsv: false, delimiter: ',', rows: samples.slice(0, ROWS_MAX), samples, hasMarks: false, wideRows: 0, linesLookedAt: 0, isAllLookedAt: false };
  }
  const { rows, delimiter } = sampleCsv(text, LOOKED_AT_MAX, isWhole);
  if (rows.length === 0) throw new Error('No row could be read from this file. Is it a CSV file?');
  const width = rows[0]?.length ?? 0;
  return {
    ...known,
    isCsv: true,
    delimiter,
    rows: rows.slice(0, ROWS_MAX),
    samples: rows.slice(0, SAMPLE_ROWS_MAX),
    hasMarks: rows.some((row) => row.some(isEscapedFormula)),
    wideRows: rows.filter((row) => isTooWide(row, width)).length,
    linesLookedAt: rows.length,
    isAllLookedAt: isWhole && rows.length < LOOKED_AT_MAX,
  };
}

function sampleJsonLines(text: string): string[][] {
  const objects = text
    .split('\n')
    .slice(0, SAMPLE_ROWS_MAX)
    .flatMap((line): Record<string, Json>[] => {
      try {
        const value = parseJson(line) as Json;
        return isJson(value) && !Array.isArray(value) ? [value] : [];
      } catch {
        return [];
      }
    });
  const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  if (names.length === 0) throw new Error('No line of this file is a JSON object. Is it a JSON Lines file?');
  return [names, ...objects.map((object) => names.map((name) => toText(object[name])))];
}

export function isJsonLines(file: File): boolean {
  return /\.(jsonl|ndjson)$/i.test(file.name);
}
