import { expect, test } from 'vitest';
import type { Column, Json } from '../../src/api/types';
import { RECIPES } from '../../src/table/recipes/builtIn';
import { guessColumns } from '../../src/table/model/guessColumns';
import { columnBody, parseRecipe, recipeOf, withoutTarget } from '../../src/table/recipes/recipe';

const manual = (id: string, header: string) => ({ id, header, type: 'manual', dataShape: 'text' }) as Column;

test('columns are found by their header, and else by their values', () => {
  const columns = [manual('a', 'Vorname'), manual('b', 'SURNAME'), manual('c', 'Where'), manual('d', 'Who'), manual('e', 'Notes')];
  const values: Record<string, Json[]> = {
    c: ['https://copperline.example', 'bright-harbor.example/about', null],
    d: ['ada@copperline.example', 'alan@bright-harbor.example', 'none'],
    e: ['see copperline.example', 'x'],
  };
  const guesses = guessColumns(['First name', 'Last name', 'Website', 'E-mail', 'Company'], columns, (id) => values[id] ?? []);
  expect(guesses).toEqual({
    'First name': { columnId: 'a', by: 'header' },
    'Last name': { columnId: 'b', by: 'header' },
    Website: { columnId: 'c', by: 'values' },
  });
  const more = guessColumns(['E-mail'], columns, (id) => (id === 'd' ? ['ada@copperline.example'] : []));
  expect(more).toEqual({ 'E-mail': { columnId: 'd', by: 'values' } });
});

test('no column is chosen twice, and a profile is no website', () => {
  const columns = [manual('a', 'Link'), manual('b', 'Name')];
  const profile = ['https://www.linkedin.com/in/ada'];
  expect(guessColumns(['Website', 'LinkedIn'], columns, (id) => (id === 'a' ? profile : []))).toEqual({ LinkedIn: { columnId: 'a', by: 'values' } });
  expect(guessColumns(['Full name', 'Name'], columns, () => [])).toEqual({ 'Full name': { columnId: 'b', by: 'header' } });
});

test('the longest name of a reference counts, and paths stay', () => {
  const column = { templateId: 'ai-text' as const, header: 'x', aiConfig: { prompt: '@{Site} @{Site text.markdown} @{secret.K} @{Siteless}' } };
  expect(columnBody(column, { Site: 'col_1', 'Site text': 'col_2' }).aiConfig?.prompt).toBe('@{col_1} @{col_2.markdown} @{secret.K} @{Siteless}');
});

test('what is saved of a table makes the same columns in another', () => {
  const columns = [
    manual('_trigger', 'Input'),
    manual('col_1', 'Website'),
    manual('col_9', 'Notes'),
    // It refers to a column behind it.
    { id: 'col_3', header: 'City', type: 'reference', dataShape: 'json', referenceConfig: { columnId: 'col_2', path: 'city' } } as Column,
    { id: 'col_2', header: 'Data', type: 'ai', dataShape: 'json', aiConfig: { prompt: 'About @{col_1}', outputSchema: null } } as unknown as Column,
  ];
  const recipe = parseRecipe(JSON.stringify(recipeOf('Leads', columns)));
  expect([recipe.name, recipe.inputs, recipe.columns.map(({ header }) => header)]).toEqual(['Leads', ['Website'], ['Data', 'City']]);
  const [data, city] = recipe.columns;
  expect(data && columnBody(data, { Website: 'new_1' })).toMatchObject({ templateId: 'ai-json', header: 'Data', aiConfig: { prompt: 'About @{new_1}' } });
  expect(city && columnBody(city, { Data: 'new_2' }).referenceConfig).toEqual({ columnId: 'new_2', path: 'city' });
});

test.each([
  ['{', 'not JSON'],
  ['{"columns": []}', 'not a recipe'],
  ['{"recipe": 1, "name": "x"}', 'no list of inputs'],
  ['{"recipe": 1, "name": "x", "inputs": [], "columns": [{}]}', 'without “header”'],
])('%s is refused in words', (text, words) => {
  expect(() => parseRecipe(text)).toThrow(words);
});

test('every recipe of ours is whole: each name it refers to is an input or an earlier column', () => {
  expect(RECIPES.length).toBeGreaterThanOrEqual(5);
  for (const recipe of RECIPES) {
    parseRecipe(JSON.stringify(recipe));
    const known = Object.fromEntries(recipe.inputs.map((name) => [name, 'known']));
    for (const column of recipe.columns) {
      expect(JSON.stringify(columnBody(column, known)), recipe.name).not.toMatch(/@\{(?!known)/);
      known[column.header] = 'known';
    }
    for (const name of recipe.inputs) expect(JSON.stringify(recipe.columns), recipe.name).toContain(`@{${name}`);
  }
});

test('a fan-out can be added without its target', () => {
  const fanOut = { list: '@{a}', targetProjectId: 'p', mapping: { c: '$' }, matchOn: 'c', limit: 5 };
  const body = { templateId: 'fan-out', header: 'Out', taskConfig: { taskType: 'fanOut', fanOut } } as const;
  expect(withoutTarget(body)?.taskConfig?.fanOut).toEqual({ list: '@{a}', targetProjectId: '', mapping: {}, matchOn: '', limit: 5 });
  expect(withoutTarget({ templateId: 'manual', header: 'Name' })).toBeUndefined();
});
