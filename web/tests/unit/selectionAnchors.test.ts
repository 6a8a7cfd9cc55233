import { CompactSelection } from '@glideapps/glide-data-grid';
import { describe, expect, it } from 'vitest';
import { EMPTY_SELECTION, type Selection } from '../../src/table/grid/selection';
import { anchorsOf, moveSelection, isUnanchored, countUnknownRows } from '../../src/table/grid/selectionAnchors';

/** One letter per row; a dot is a row that is not loaded. */
function rowsOf(letters: string) {
  const ids = letters.split(' ').filter((id) => id !== '');
  return {
    total: ids.length,
    rowAt: (index: number) => (ids[index] && ids[index] !== '.' ? { id: ids[index], cells: {} } : undefined),
    indexOf: (id: string) => (ids.includes(id) ? ids.indexOf(id) : undefined),
  };
}

function cell(rowIndex: number, rows = 1): Selection {
  return { ...EMPTY_SELECTION, cell: { rowIndex, columnId: 'x' }, range: { firstRow: rowIndex, endRow: rowIndex + rows, firstColumn: 0, endColumn: 1 } };
}

function moved(selection: Selection, before: string, after: string): Selection | undefined {
  return moveSelection(selection, anchorsOf(selection, rowsOf(before)), rowsOf(after));
}

describe('a selection', () => {
  it('stays where it is while its rows do', () => {
    expect(moved(cell(1), 'a b c', 'a b c d')).toBeUndefined();
    expect(moved(cell(1), 'a b c', 'a b x')).toBeUndefined();
    expect(moved(cell(1), 'a b c', '. . .')).toBeUndefined();
  });

  it('goes with its row', () => {
    expect(moved(cell(2), 'a b c d', 'b c d')).toEqual(cell(1));
    expect(moved(cell(1, 2), 'a b c d', 'x a b c d')).toEqual(cell(2, 2));
  });

  it('is only the cell where the rows of a range part', () => {
    expect(moved(cell(1, 2), 'a b c d', 'b d c')).toEqual(cell(0));
  });

  it('ends with its row', () => {
    expect(moved(cell(1), 'a b c', 'a c')?.cell).toBeUndefined();
    expect(moved(cell(2), 'a b c', 'a b')?.cell).toBeUndefined();
  });

  it('goes back to the row to type into where the one before it was not taken', () => {
    expect(moved(cell(3), 'a b', 'a b')).toBeUndefined();
    expect(moved(cell(3), 'a b c', 'a b')).toEqual(cell(2));
  });

  it('keeps ticks at their rows and drops those of rows that are gone', () => {
    const ticked = { ...EMPTY_SELECTION, rows: CompactSelection.fromSingleSelection([1, 4]) };
    const after = moved(ticked, 'a b c d e', 'b d e');
    expect(after && [...after.rows]).toEqual([0, 1]);
  });

  it('ticks no row that came later, though all that were there are ticked', () => {
    const after = moved({ ...EMPTY_SELECTION, rows: CompactSelection.fromSingleSelection([0, 3]) }, 'a b c', 'a new b c');
    expect(after && [...after.rows]).toEqual([0, 2, 3]);
  });

  it('leaves every row ticked where all are, and not all are known: what is meant is the list', () => {
    const everything = { ...EMPTY_SELECTION, rows: CompactSelection.fromSingleSelection([0, 5]) };
    expect(moved(everything, 'a b . . .', 'x a . . .')).toBeUndefined();
    expect([...(moved(everything, 'a b . . .', 'b . . .')?.rows ?? [])]).toEqual([0, 1, 2, 3]);
    expect([...(moved(everything, 'a b . . .', 'a b . . . .')?.rows ?? [])]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...(moved(everything, 'a b . . .', '')?.rows ?? [9])]).toEqual([]);
    // The empty row at the end does not count.
    const butOne = { ...EMPTY_SELECTION, rows: everything.rows.add(5).remove(1) };
    expect(anchorsOf(butOne, rowsOf('a b . . .')).isEverything).toBe(false);
    expect(countUnknownRows(butOne, anchorsOf(butOne, rowsOf('a b . . .')))).toBe(3);
  });

  it('knows rows that it has seen, though they are no longer at hand', () => {
    const ticked = { ...EMPTY_SELECTION, rows: CompactSelection.fromSingleSelection([0, 3]) };
    const before = anchorsOf(ticked, rowsOf('a b . d'));
    expect([...anchorsOf(ticked, rowsOf('. . c d'), before).ids.values()].sort()).toEqual(['a', 'b', 'c']);
  });

  it('drops ticks of rows that are out of reach when rows have gone', () => {
    const ticked = { ...EMPTY_SELECTION, rows: CompactSelection.fromSingleSelection(3) };
    const after = moved(ticked, 'a b c d e', 'b c . .');
    expect(after && [...after.rows]).toEqual([]);
    expect(moved(ticked, 'a b c d e', 'a b c . .')).toBeUndefined();
  });

  it('stays behind the last row, unless that is being typed there', () => {
    expect(moved(cell(2), 'a b', 'a b other')).toEqual(cell(3));
    expect(moved(cell(2), 'a b', 'a')).toEqual(cell(1));
    expect(moved(cell(3), 'a b c', 'a')).toEqual(cell(1));
    const typed = cell(2);
    const anchors = anchorsOf(typed, rowsOf('a b'));
    expect(moveSelection(typed, anchors, rowsOf('a b new_1'))).toBeUndefined();
    expect(isUnanchored(typed, anchors, rowsOf('a b new_1'))).toBe(true);
    expect(moveSelection(typed, anchorsOf(typed, rowsOf('a b new_1')), rowsOf('a b c'))).toBeUndefined();
  });
});
