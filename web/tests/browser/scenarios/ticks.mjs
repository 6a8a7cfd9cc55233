// Thousands of selected rows, few of them loaded: actions reach exactly these rows.
import assert from 'node:assert/strict';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const ROWS = 12_000;

export default async function ticks({ server, page }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Thousands',
    columns: [{ templateId: 'manual', header: 'Name' }],
  });
  const path = `/projects/${project.id}/rows`;
  const add = async (first, end, kind) => {
    const rows = Array.from({ length: end - first }, (_, index) => ({ Name: `${kind ?? ((first + index) % 2 ? 'odd' : 'even')} ${first + index}` }));
    return (await server.api('POST', path, rows)).rows;
  };
  const ids = [...(await add(0, ROWS / 2)), ...(await add(ROWS / 2, ROWS))];
  const total = async (search = '') => (await server.api('GET', `${path}?pageSize=1&search=${search}`)).pagination.totalRows;
  const holds = (rows) => until(`${rows} rows are left`, async () => (await total()) === rows);
  const grid = gridOf(page);
  const bar = page.getByRole('toolbar', { name: 'Selected rows' });
  const marker = async (row, options = {}) => {
    const box = await page.getByTestId('data-grid-canvas').boundingBox();
    if (options.key) await page.keyboard.down(options.key);
    await page.mouse.click(box.x + 18, row < 0 ? box.y + 18 : box.y + 36 + row * 33 + 16);
    if (options.key) await page.keyboard.up(options.key);
  };
  const scroll = (top) => page.evaluate((to) => document.querySelector('.dvn-scroller').scrollTo(0, to), top);
  const name = (row) => grid.cell(row, 1).textContent();
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(0, 1, 'even 0');

  // An unselected row between two selected ones.
  await marker(0);
  await marker(2, { key: 'Control' });
  await bar.getByText('2 selected').waitFor();
  await page.evaluate(() => document.activeElement.dispatchEvent(new ClipboardEvent('cut', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true })));
  await grid.reads(0, 1, '');
  await grid.reads(2, 1, '');
  await grid.reads(1, 1, 'odd 1');
  await page.keyboard.press('Control+z');
  await grid.reads(2, 1, 'even 2');
  await bar.getByRole('button', { name: 'Clear the selection' }).click();

  // “All rows” means the list at the time of the action.
  await marker(-1);
  await bar.getByText('All 12,000 rows', { exact: true }).waitFor();
  await server.api('DELETE', path, { rowIds: [ids[0], ids[1]] });
  await bar.getByText('All 11,998 rows', { exact: true }).waitFor();
  await add(ROWS, ROWS + 2);
  await bar.getByText('All 12,000 rows', { exact: true }).waitFor();
  await shot(page, 'selection-everything');
  await bar.getByRole('button', { name: 'Clear the selection' }).click();

  // With a search, only the matching rows.
  await page.getByLabel('Search all cells').fill('odd');
  await page.getByText('6,000 rows match').waitFor();
  await marker(-1);
  await bar.getByText('All 6,000 rows that match').waitFor();
  await bar.getByRole('button', { name: 'Delete' }).click();
  await shot(page, 'selection-delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 6,000 rows' }).click();
  await holds(6_000);
  assert.equal(await total('odd'), 0);
  await page.getByLabel('Search all cells').fill('');
  await page.getByText('6,000 rows', { exact: true }).waitFor();

  // A range from one row to another. If rows move before the action, no unseen row is touched.
  const tickLong = async () => {
    await scroll(0);
    await until('the top is in sight', async () => (await grid.cell(1, 1).count()) > 0 && (await name(1)) !== '');
    await marker(1);
    await bar.getByText('1 selected').waitFor();
    await scroll(3_000 * 33);
    await until('row 3,000 is in sight', async () => (await grid.cell(3_000, 1).count()) > 0 && (await name(3_000)) !== '');
    // The header may cover a part of row 3,000.
    await marker(2, { key: 'Shift' });
    await bar.getByText(/^3,00\d selected$/).waitFor();
  };
  await tickLong();
  const { rows: [first] } = await server.api('GET', `${path}?pageSize=1`);
  await server.api('DELETE', path, { rowIds: [first.id] });
  await page.getByText('Rows have moved. Only the rows you had seen are still selected').waitFor();
  await until('fewer are ticked', async () => !(await bar.getByText(/^3,00\d selected$/).isVisible()));
  await bar.getByRole('button', { name: 'Clear the selection' }).click();

  await tickLong();
  const ticked = Number((await bar.textContent()).match(/([\d,]+) selected/)[1].replace(',', ''));
  const before = (await server.api('GET', `${path}?pageSize=1`)).rows[0].id;
  await bar.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^Delete 3,00\d rows$/ }).click();
  await holds(5_999 - ticked);
  assert.equal((await server.api('GET', `${path}?pageSize=1`)).rows[0].id, before, 'the row above stays');
  const told = page.getByRole('alert').filter({ hasText: /^3,00\d rows deleted/ });
  await told.getByRole('button', { name: 'Undo', exact: true }).click();
  await holds(5_999);
}
