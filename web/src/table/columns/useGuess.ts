import { useQuery } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { stringifyJson } from '../../api/exactNumber';
import type { Column, Format } from '../../api/types';
import type { Table } from '../state/useTable';
import { sampleValues } from './sampleValues';

export interface Guess {
  format: Format;
  fits: number;
  misfits: number;
}

/** The type that the values of a column seem to have, if nobody has chosen one: typed, imported, or filled by a run. */
export function useGuess(table: Table, column: Column | undefined): Guess | undefined {
  const values = column && !column.format ? sampleValues(table, column.id).filter((value) => value !== null && value !== '') : [];
  const header = column?.header ?? '';
  const guess = useQuery({
    queryKey: ['guess', table.project.id, column?.id, header, stringifyJson(values).length, values.length],
    enabled: values.length > 0,
    staleTime: 60_000,
    queryFn: async () => (await data(client.POST('/v4/formats/guess', { body: { columns: [{ header, values }] } }))).columns[0] ?? null,
  });
  const found = values.length > 0 ? guess.data : undefined;
  return found?.format && { format: found.format, fits: found.fits, misfits: found.misfits };
}
