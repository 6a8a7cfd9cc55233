// Cell menu by mouse and keyboard, cell details, and a column from a field.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

export default async function hands({ server, page }) {
  const provider = await startProvider();
  try {
    const { project } = await server.api('POST', '/projects', {
      title: 'Hands',
      columns: [
        { templateId: 'manual', header: 'Name' },
        { templateId: 'http-api', header: 'Found', apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' } } },
      ],
    });
    await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'a' }, { Name: 'b' }, { Name: 'c' }]);
    const names = async () => {
      const { rows } = await server.api('GET', `/projects/${project.id}/rows`);
      return rows.map(({ cells }) => cells[project.columns[1].id]).join('');
    };
    const grid = gridOf(page);
    const panel = page.getByRole('complementary');
    const menu = page.getByRole('menu');
    const item = (name) => menu.getByRole('menuitem', { name, exact: true });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await grid.reads(2, 1, 'c');
    await takesKeysBack(page, grid);

    // By right click.
    await grid.rightClick(0, 2);
    await item('Run this cell').waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await shot(page, 'cell-menu');
    await item('Run this cell').click();
    await grid.reads(0, 2, 'a Ltd · employees 12');
    await grid.rightClick(1, 1);
    await item('Copy').click();
    await until('the cell is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'b');
    await grid.rightClick(1, 1);
    await item('Delete this row').click();
    await until('the row is gone', async () => (await names()) === 'ac');

    // Enter opens the details of a computed cell; a field becomes a column; Escape returns to the grid.
    await grid.select(0, 2);
    await page.keyboard.press('Enter');
    await panel.getByText('Click a field').waitFor();
    await panel.getByRole('button', { name: 'employees' }).click();
    await grid.reads(0, 3, '12');
    await page.getByText('The column “Employees” was created.').waitFor();
    await shot(page, 'panel-fields');
    await panel.getByRole('button', { name: 'Close the panel' }).focus();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+F10');
    await page.getByRole('menu', { name: 'Row 2, Found' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await until('the keys move in the menu', () => item('Run this cell').evaluate((element) => element === document.activeElement));
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'detached' });
    await page.keyboard.press('Space');
    await panel.getByText('Not run yet').waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await grid.doubleClick(0, 3);
    await panel.getByText('12', { exact: true }).waitFor();
    await page.keyboard.press('Escape');

    // Frozen columns.
    await grid.selectHeader(1);
    await page.keyboard.press('Enter');
    await item('Unfreeze').click();
    await menu.waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await item('Freeze up to here').click();
    await menu.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 820, height: 600 });
    await page.evaluate(() => document.querySelector('.dvn-scroller').scrollTo(900, 0));
    await shot(page, 'table-frozen');
    await page.setViewportSize({ width: 1360, height: 820 });
    await page.evaluate(() => document.querySelector('.dvn-scroller').scrollTo(0, 0));
    await page.keyboard.press('Enter');
    await item('Unfreeze').waitFor();
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'detached' });

    // Header menu by keyboard, and what deleting a column removes.
    await grid.selectHeader(2);
    await page.keyboard.press('Enter');
    await item('Delete').click();
    const dialog = page.getByRole('dialog', { name: 'Delete the column “Found”?' });
    await dialog.getByText('1 value', { exact: true }).waitFor();
    await dialog.getByText('the values “Employees” takes from it').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  } finally {
    provider.stop();
  }
}

/** A press in the grid focuses it, even on the cell that is already selected. */
async function takesKeysBack(page, grid) {
  const search = page.getByLabel('Search all cells');
  const panel = page.getByRole('complementary');
  const menu = page.getByRole('menu');
  const opensBySpace = async () => {
    await page.keyboard.press('Space');
    await panel.waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
  };
  await grid.select(2, 1);
  await search.click();
  await grid.select(2, 1);
  await page.keyboard.type('d');
  await page.keyboard.press('Enter');
  await grid.reads(2, 1, 'd');
  assert.equal(await search.inputValue(), '');

  await grid.select(2, 1);
  await page.getByRole('button', { name: 'Undo' }).click();
  await grid.reads(2, 1, 'c');
  await grid.select(2, 1);
  await opensBySpace();

  await page.getByRole('button', { name: 'Run options' }).click();
  await menu.waitFor();
  await grid.select(2, 1);
  await menu.waitFor({ state: 'detached' });
  await opensBySpace();
}
