import { CompactSelection } from '@glideapps/glide-data-grid';
import { expect, test } from 'vitest';
import type { Column } from '../../src/api/types';
import { fieldHeader } from '../../src/table/cell/fieldHeader';
import { keyAction } from '../../src/table/grid/keys';
import { cellSelection, EMPTY_SELECTION } from '../../src/table/grid/selection';

const columns = [{ id: 'm', type: 'manual' }, { id: 'a', type: 'ai' }] as Column[];
const onHeader = { ...EMPTY_SELECTION, columns: CompactSelection.fromSingleSelection(1) };

function check(key: string, selection: typeof EMPTY_SELECTION, expected: string | undefined, rowCount = 3) {
  const parts = key.split('+');
  const event = {
    key: parts.at(-1) ?? '',
    shiftKey: parts.includes('Shift'),
    ctrlKey: parts.includes('Ctrl'),
    metaKey: false,
    altKey: false,
  };
  expect(keyAction(event, selection, columns, rowCount)?.kind).toBe(expected);
}

test('details and menus open by keys, and typing stays typing', () => {
  check(' ', cellSelection(0, 'm', columns), 'details');
  check('Enter', cellSelection(0, 'm', columns), undefined);
  check('Enter', cellSelection(0, 'a', columns), 'details');
  check('Shift+Enter', cellSelection(0, 'a', columns), undefined);
  check('x', cellSelection(0, 'a', columns), undefined);
  check('Shift+F10', cellSelection(0, 'm', columns), 'cellMenu');
  check('ContextMenu', cellSelection(0, 'a', columns), 'cellMenu');
  check('ContextMenu', cellSelection(3, 'a', columns), undefined);
  check('Enter', onHeader, 'headerMenu');
  check('Shift+F10', onHeader, 'headerMenu');
  check('ArrowDown', onHeader, undefined);
  check('Enter', EMPTY_SELECTION, undefined);
});

test('a field names its column', () => {
  const headers = ['company.statusCode', 'items[0].name', "$['first name']", 'URL', 'zip_code', '[0]'].map(fieldHeader);
  expect(headers).toEqual(['Status code', 'Name', 'First name', 'URL', 'Zip code', 'Field']);
});
