import { expect, test } from 'vitest';
import { type PasteTarget, planPaste } from '../../src/table/editing/planPaste';

const columns = [
  { id: 'a', isWritable: true },
  { id: 'b', isWritable: false },
  { id: 'c', isWritable: true },
];

function check(values: string[][], target: Partial<PasteTarget>, expected: { writes: string[]; added: object[]; leftOut: number }) {
  const plan = planPaste(values, { columns, firstColumn: 0, firstRow: 0, rowCount: 3, ...target });
  const writes = plan.writes.map(({ rowIndex, columnId, text }) => `${rowIndex}${columnId}=${text}`);
  expect({ writes, added: plan.added, leftOut: plan.leftOut }).toEqual(expected);
}

test('a block goes where it is put', () => {
  check([['1', 'x', '2'], ['3', 'y', '4']], {}, { writes: ['0a=1', '0c=2', '1a=3', '1c=4'], added: [], leftOut: 2 });
});

test('rows past the end are added', () => {
  check([['1'], ['2'], ['3']], { firstRow: 2 }, { writes: ['2a=1'], added: [{ a: '2' }, { a: '3' }], leftOut: 0 });
});

test('columns past the last have no place', () => {
  check([['1', '2']], { firstColumn: 2 }, { writes: ['0c=1'], added: [], leftOut: 1 });
});

test('one value fills a selection', () => {
  check([['1']], { selectedRows: 3 }, { writes: ['0a=1', '1a=1', '2a=1'], added: [], leftOut: 0 });
});

test('a block that does not go in evenly is pasted once', () => {
  check([['1'], ['2']], { selectedRows: 3 }, { writes: ['0a=1', '1a=2'], added: [], leftOut: 0 });
});
