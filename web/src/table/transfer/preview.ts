import { toText } from '../rows/typed';
import type { Json } from '../../api/types';
import { sampleCsv } from './csv';
import { isJsonLines } from './upload';

export interface Preview {
  file: File;
  /** CSV may have a line of names first; JSON Lines name every value. */
  isCsv: boolean;
  rows: string[][];
}

const SAMPLE_BYTES = 128 * 1024;
const ROWS_MAX = 6;

/** The first rows of a file, read without the rest of it. */
export async function readPreview(file: File): Promise<Preview> {
  if (file.size === 0) throw new Error('This file is empty. Choose another one.');
  const text = await file.slice(0, SAMPLE_BYTES).text();
  const isWhole = file.size <= SAMPLE_BYTES;
  if (isJsonLines(file)) return { file, isCsv: false, rows: sampleJsonLines(text) };
  const { rows } = sampleCsv(text, ROWS_MAX, isWhole);
  if (rows.length === 0) throw new Error('No row could be read from this file. Is it a CSV file?');
  return { file, isCsv: true, rows };
}

function sampleJsonLines(text: string): string[][] {
  const objects = text
    .split('\n')
    .slice(0, ROWS_MAX)
    .flatMap((line): Record<string, Json>[] => {
      try {
        const value = JSON.parse(line) as Json;
        return typeof value === 'object' && value !== null && !Array.isArray(value) ? [value] : [];
      } catch {
        return [];
      }
    });
  const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  if (names.length === 0) throw new Error('No line of this file is a JSON object. Is it a JSON Lines file?');
  return [names, ...objects.map((object) => names.map((name) => toText(object[name])))];
}
