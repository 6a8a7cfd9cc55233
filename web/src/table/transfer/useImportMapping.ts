import { useMemo, useState } from 'react';
import type { Column, Format, FormatType } from '../../api/types';
import { formatOf } from '../formats/options';
import { fieldNames } from './csv';
import { unescapeFormula } from './formulas';
import type { Preview } from './preview';
import { FOLLOWS, LEFT_OUT, NEW, suggested } from './targets';
import type { ImportOptions } from './upload';
import { useFormatGuesses } from './useFormatGuesses';

const HEADER_LENGTH_MAX = 255;

export type ImportMappingState = ReturnType<typeof useImportMapping>;

/** How a file is imported: its header, its formulas, and the target column of each of its columns. */
export function useImportMapping(preview: Preview, columns: readonly Column[], unnamed: Column | undefined) {
  const [hasHeader, setHasHeader] = useState(true);
  const [isUnmarked, setIsUnmarked] = useState(true);
  const [chosen, setChosen] = useState<Record<number, string>>({});
  const [matchOn, setMatchOn] = useState<string | null>(null);

  const unmarked = (lines: string[][]) => (isUnmarked && preview.hasMarks ? lines.map((row) => row.map(unescapeFormula)) : lines);
  const rows = unmarked(preview.rows);
  // The first line sets the width: the service rejects rows that have more cells.
  const width = rows[0]?.length ?? 0;
  const names = Array.from({ length: width }, (_, place) => (hasHeader ? (rows[0]?.[place] ?? '') : `Column ${place + 1}`));

  const suggest = (place: number) => (place === 0 && unnamed ? unnamed.id : suggested(names[place] ?? '', columns));
  const target = (place: number) => chosen[place] ?? suggest(place);
  const isSkipped = (place: number) => target(place) === LEFT_OUT || target(place) === FOLLOWS;
  const used = names.map((_, place) => target(place)).filter((id) => id !== NEW && id !== LEFT_OUT && id !== FOLLOWS);

  const samples = useMemo(() => unmarked(preview.samples).slice(hasHeader ? 1 : 0), [preview, isUnmarked, hasHeader]);
  const isTyped = (place: number) => target(place) === NEW || target(place) === unnamed?.id;
  const types = useTypes(names, samples, isTyped);
  const { formatAt } = types;
  const keys = () => (hasHeader ? fieldNames(names) : names.map((_, place) => String(place)));
  const formats = (): ImportOptions['formats'] => {
    const entries = keys().map((key, place) => (target(place) === NEW ? ([key, formatAt(place)] as const) : undefined));
    return Object.fromEntries(entries.flatMap((entry) => (entry?.[1] ? [[entry[0], entry[1]]] : [])));
  };

  /** Target by field of the file; null skips a field, and a field without an entry becomes a new column. */
  const mapping = (): ImportOptions['mapping'] => {
    const fields = keys();
    const entries = names.map((name, place): [string, string | null] | undefined => {
      const key = fields[place] ?? name;
      if (isSkipped(place)) return [key, null];
      return target(place) === NEW ? undefined : [key, target(place)];
    });
    return Object.fromEntries(entries.filter((entry) => entry !== undefined));
  };

  const options = (): ImportOptions => {
    const source = unnamed && hasHeader ? names.findIndex((name, place) => name.trim() !== '' && target(place) === unnamed.id) : -1;
    const rename = unnamed && source >= 0 ? renamed(unnamed.id, names[source] ?? '', formatAt(source)) : undefined;
    return { header: hasHeader, isUnmarked, mapping: mapping(), formats: formats(), ...(matchOn && { matchOn }), ...(rename && { renamed: rename }) };
  };

  return {
    hasHeader,
    setHasHeader,
    isUnmarked,
    setIsUnmarked,
    matchOn,
    setMatchOn,
    width,
    names,
    /** The rows below the header. */
    body: hasHeader ? rows.slice(1) : rows,
    suggest,
    target,
    isTyped,
    ...types,
    setTarget: (place: number, columnId: string) => setChosen({ ...chosen, [place]: columnId }),
    isSkipped,
    isUsed: (columnId: string) => used.includes(columnId),
    hasDuplicates: used.some((id, place) => used.indexOf(id) !== place),
    options,
  };
}

/** An unnamed column takes the name of the field it is filled from. */
function renamed(columnId: string, name: string, format: Format | undefined): ImportOptions['renamed'] {
  return { columnId, header: name.trim().slice(0, HEADER_LENGTH_MAX), ...(format && { format }) };
}

/** The types of the columns that an import makes, or names: chosen, or else guessed. */
function useTypes(names: string[], samples: string[][], isTyped: (place: number) => boolean) {
  const [chosen, setChosen] = useState<Record<number, FormatType | 'none'>>({});
  const guesses = useFormatGuesses(names, samples);
  const formatAt = (place: number): Format | undefined => {
    const [type, guessed] = [chosen[place], guesses[place]];
    if (!isTyped(place) || type === 'none') return undefined;
    if (type === undefined || type === guessed?.type) return guessed;
    return formatOf(type, samples.map((row) => row[place] ?? ''));
  };
  return {
    formatAt,
    guessAt: (place: number) => guesses[place],
    setType: (place: number, type: FormatType | 'none') => setChosen({ ...chosen, [place]: type }),
  };
}
