import { expect, test } from 'vitest';
import { columnBody } from '../../src/table/recipes/recipe';
import { SAMPLES } from '../../src/table/recipes/sample';

test('there is a sample for each kind of work', () => {
  expect(SAMPLES.map(({ name }) => name)).toEqual(['Sales', 'Recruiting', 'Events', 'Research']);
});

test.each(SAMPLES.map((sample) => [sample.name, sample] as const))('the sample for %s refers only to its own columns', (_, sample) => {
  const ids: Record<string, string> = { [sample.input]: 'first' };
  for (const column of sample.columns) {
    const text = JSON.stringify(columnBody(column, ids));
    // Every name in it was replaced by the id of a column before it.
    for (const [, name = ''] of text.matchAll(/@\{([^}]*)\}/g)) expect(Object.values(ids)).toContain(name);
    expect(ids[column.header]).toBeUndefined();
    ids[column.header] = `id${Object.keys(ids).length}`;
  }
  const manual = sample.columns.filter(({ templateId }) => templateId === 'manual').map(({ header }) => header);
  for (const row of sample.rows) for (const header of Object.keys(row)) expect([sample.input, ...manual]).toContain(header);
});
