import { expect, test } from 'vitest';
import { destinations, guessHeader, needsAnswer, type PasteColumn } from '../../src/table/rows/pasteBlock';

const input: PasteColumn = { id: '_trigger', header: 'Input', isWritable: true, isComputed: false };
const name: PasteColumn = { id: 'n', header: 'Name', isWritable: true, isComputed: false };
const part: PasteColumn = { id: 'p', header: 'Part', isWritable: false, isComputed: true };
const found: PasteColumn = { id: 'f', header: 'Found', isWritable: true, isComputed: true };

function header(isGuessed: boolean, block: string[][], columns: PasteColumn[] = [input], isEmptyTable = true) {
  expect(guessHeader(block, columns, isEmptyTable)).toBe(isGuessed);
}

test('a first line that names what follows is taken for headers', () => {
  header(true, [['Name', 'Age'], ['Ada', '36']], [input], false);
  header(true, [['Website'], ['acme.com']]);
  header(true, [['Name', 'City'], ['Ada', 'London']]);
  header(true, [['name', 'City'], ['Ada', 'London']], [name], false);
});

test('values are no headers', () => {
  header(false, [['Ada', 'London'], ['Alan', 'Manchester']], [input], false);
  header(false, [['Ada', '36'], ['Alan', '41']]);
  header(false, [['ada@example.com', 'London'], ['alan@example.com', 'Paris']]);
  header(false, [['Name', 'City']]);
  header(false, [['Name', ''], ['Ada', 'London']]);
  header(false, [['Ada'], ['Alan']]);
});

function goes(block: string[][], hasHeader: boolean, columns: PasteColumn[], expected: string[], isEmptyTable = false) {
  const goals = destinations(block, columns, { hasHeader, firstColumn: 0, isEmptyTable });
  expect(goals.map((goal) => `${goal.columnId ?? 'new'}:${goal.header}`)).toEqual(expected);
}

test('what is there is filled by place, the rest becomes columns', () => {
  goes([['1', '2', '3']], false, [input, part], ['_trigger:Input', 'new:Column 3', 'new:Column 4']);
});

test('a header finds the column of its name wherever it stands', () => {
  goes([['City', 'name'], ['x', 'y']], true, [name], ['new:City', 'n:Name']);
  goes([['Age', 'Name'], ['x', 'y']], true, [input, name], ['_trigger:Input', 'n:Name']);
});

test('what has another name is not put into a column that fills itself', () => {
  goes([['City'], ['x']], true, [found], ['new:City']);
  goes([['Found'], ['x']], true, [found], ['f:Found']);
  goes([['x']], false, [found], ['f:Found']);
});

test('an empty table takes the headers over', () => {
  goes([['Company', 'Site'], ['x', 'y']], true, [input], ['_trigger:Company', 'new:Site'], true);
});

test('asks only where there is no room, or where a table begins', () => {
  const block = [['Name', 'Age'], ['Ada', '36']];
  expect(needsAnswer(block, [input], 0, false)).toBe(true);
  expect(needsAnswer(block, [input, name], 0, false)).toBe(false);
  expect(needsAnswer(block, [input, name], 0, true)).toBe(true);
  expect(needsAnswer([['x']], [input], 0, true)).toBe(false);
});
