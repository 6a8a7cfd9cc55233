import { useState } from 'react';
import type { Column } from '../../api/types';
import { fieldNames } from './csv';
import { unescapeFormula } from './formulas';
import type { Preview } from './preview';
import { FOLLOWS, LEFT_OUT, NEW, suggested } from './targets';
import type { ImportOptions } from './upload';

const HEADER_LENGTH_MAX = 255;

export type ImportMappingState = ReturnType<typeof useImportMapping>;

/** How a file is imported: its header, its formulas, and the target column of each of its columns. */
export function useImportMapping(preview: Preview, columns: readonly Column[], unnamed: Column | undefined) {
  const [hasHeader, setHasHeader] = useState(true);
  const [isUnmarked, setIsUnmarked] = useState(true);
  const [chosen, setChosen] = useState<Record<number, string>>({});
  const [matchOn, setMatchOn] = useState<string | null>(null);

  const rows = isUnmarked && preview.hasMarks ? preview.rows.map((row) => row.map(unescapeFormula)) : preview.rows;
  // The first line sets the width: the service rejects rows that have more cells.
  const width = rows[0]?.length ?? 0;
  const names = Array.from({ length: width }, (_, place) => (hasHeader ? (rows[0]?.[place] ?? '') : `Column ${place + 1}`));

  const suggest = (place: number) => (place === 0 && unnamed ? unnamed.id : suggested(names[place] ?? '', columns));
  const target = (place: number) => chosen[place] ?? suggest(place);
  const isSkipped = (place: number) => target(place) === LEFT_OUT || target(place) === FOLLOWS;
  const used = names.map((_, place) => target(place)).filter((id) => id !== NEW && id !== LEFT_OUT && id !== FOLLOWS);

  /** Target by field of the file; null skips a field, and a field without an entry becomes a new column. */
  const mapping = (): ImportOptions['mapping'] => {
    const keys = hasHeader ? fieldNames(names) : names.map((_, place) => String(place));
    const entries = names.map((name, place): [string, string | null] | undefined => {
      const key = keys[place] ?? name;
      if (isSkipped(place)) return [key, null];
      return target(place) === NEW ? undefined : [key, target(place)];
    });
    return Object.fromEntries(entries.filter((entry) => entry !== undefined));
  };

  /** An unnamed column takes the name of the field it is filled from. */
  const renamed = (): ImportOptions['renamed'] => {
    const source = unnamed && hasHeader ? names.findIndex((name, place) => name.trim() !== '' && target(place) === unnamed.id) : -1;
    return unnamed && source >= 0 ? { columnId: unnamed.id, header: (names[source] ?? '').trim().slice(0, HEADER_LENGTH_MAX) } : undefined;
  };

  const options = (): ImportOptions => {
    const rename = renamed();
    return { header: hasHeader, isUnmarked, mapping: mapping(), ...(matchOn && { matchOn }), ...(rename && { renamed: rename }) };
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
    setTarget: (place: number, columnId: string) => setChosen({ ...chosen, [place]: columnId }),
    isSkipped,
    isUsed: (columnId: string) => used.includes(columnId),
    hasDuplicates: used.some((id, place) => used.indexOf(id) !== place),
    options,
  };
}
