// Pastes a block from a spreadsheet: over existing cells, past the last row, and wider than the table.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, paste, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function pasted({ server, page }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Pasted',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'manual', header: 'City' },
    ],
  });
  const [, name, city] = project.columns.map((column) => column.id);
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'one' }, { Name: 'two' }]);
  const holds = (wanted) =>
    until(`the rows are ${JSON.stringify(wanted)}`, async () => {
      const { rows } = await server.api('GET', `/projects/${project.id}/rows`);
      return JSON.stringify(rows.map((row) => [row.cells[name], row.cells[city]])) === JSON.stringify(wanted);
    });
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(1, 1, 'two');

  await grid.select(1, 1);
  await paste(page, 'Ada\tLondon\r\n"Grace\nHopper"\tNew York\r\nAlan\tManchester\r\n');
  const after = [
    ['one', null],
    ['Ada', 'London'],
    ['Grace\nHopper', 'New York'],
    ['Alan', 'Manchester'],
  ];
  await holds(after);
  await grid.reads(3, 2, 'Manchester');

  await page.keyboard.press('Control+z');
  await holds([
    ['one', null],
    ['two', null],
  ]);
  await page.keyboard.press('Control+y');
  await holds(after);

  await grid.select(0, 2);
  await page.keyboard.press('Shift+ArrowDown');
  await paste(page, 'Paris');
  await holds([['one', 'Paris'], ['Ada', 'Paris'], ...after.slice(2)]);

  // One click on a selected cell only selects it; a double click opens its editor.
  const editor = page.getByLabel('Edit cell');
  await page.getByText('Live', { exact: true }).click();
  await grid.select(0, 2);
  assert.equal(await editor.count(), 0);

  // A block goes to the grid although an editor is open, unless it has typed text.
  await grid.select(2, 1);
  await page.keyboard.press('F2');
  await editor.waitFor();
  await paste(page, 'Grace\tRome\nMary\tOslo');
  await editor.waitFor({ state: 'detached' });
  await holds([['one', 'Paris'], ['Ada', 'Paris'], ['Grace', 'Rome'], ['Mary', 'Oslo']]);

  // Past the last column: paste what fits, or create columns.
  await grid.select(3, 2);
  await paste(page, 'Turin\t1\nBern\t2');
  await page.getByRole('dialog', { name: 'Paste 2 columns × 2 rows' }).getByText('Column 4').waitFor();
  await page.getByRole('button', { name: 'Paste only what fits' }).click();
  await holds([['one', 'Paris'], ['Ada', 'Paris'], ['Grace', 'Rome'], ['Mary', 'Turin'], [null, 'Bern']]);

  await intoNewTable({ server, page, grid });
}

/** One paste fills a new table with headers and rows. */
async function intoNewTable({ server, page, grid }) {
  const { project } = await server.api('POST', '/projects', { title: 'New' });
  await openTable(page, server, project.id);
  await page.getByText('No rows yet').waitFor();
  const lines = Array.from({ length: 340 }, (_, index) => [`n${index}`, `${index}`, `https://n${index}.example`, '', 'x', 'y'].join('\t'));
  await paste(page, ['Company\tPeople\tSite\tNote\tA\tB', ...lines].join('\n'));
  const dialog = page.getByRole('dialog', { name: 'Paste 6 columns × 340 rows' });
  await dialog.getByText('New column').first().waitFor();
  assert.equal(await dialog.getByLabel('First line contains column names').isChecked(), true);
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'paste-dialog');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await grid.reads(0, 2, 'https://n0.example');
  const stored = await server.api('GET', `/projects/${project.id}`);
  assert.deepEqual(stored.project.columns.map(({ header }) => header), ['Company', 'People', 'Site', 'Note', 'A', 'B']);
  assert.equal(stored.project.rowCount, 340);

  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('The 5 columns created for it remain.').waitFor();
  await page.getByText('No rows yet').waitFor();
}
