import { useQuery } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import type { Format } from '../../api/types';

const VALUES_MAX = 300;

/** The types that the columns of a file seem to have; none until the service has answered. */
export function useFormatGuesses(names: readonly string[], rows: readonly (readonly string[])[]): (Format | undefined)[] {
  const columns = names.map((header, place) => ({ header: header.slice(0, 255), values: rows.slice(0, VALUES_MAX).map((row) => row[place] ?? '') }));
  const guesses = useQuery({
    queryKey: ['guesses', columns],
    enabled: columns.length > 0 && columns.length <= 500,
    staleTime: Infinity,
    // The import works without guesses.
    retry: false,
    queryFn: async () => (await data(client.POST('/v4/formats/guess', { body: { columns } }))).columns.map(({ format }) => format),
  });
  return guesses.data ?? [];
}
