// Every action by its name: the command palette, and the list of keyboard shortcuts.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const HEADERS = ['Name', 'Country', 'Size', 'Owner', 'Stage', 'Notes', 'Source', 'Next step'];

export default async function commands({ server, page }) {
  const { project } = await server.api('POST', '/projects', { title: 'Commands', columns: HEADERS.map((header) => ({ templateId: 'manual', header })) });
  await server.api('POST', '/projects', { title: 'Another table' });
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'Ada' }, { Name: 'Bob' }]);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(0, 1, 'Ada');
  const palette = page.getByRole('dialog', { name: 'Commands' });
  const find = async (typed) => {
    await page.keyboard.press('Control+k');
    await palette.getByRole('combobox', { name: 'Find a command' }).fill(typed);
  };

  // From the grid, and back to the same cell.
  await grid.select(1, 1);
  await page.keyboard.press('Control+k');
  await palette.getByRole('option', { name: 'Add column' }).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'commands');
  await page.keyboard.press('Escape');
  await palette.waitFor({ state: 'detached' });
  await page.keyboard.type('Bert');
  await page.keyboard.press('Enter');
  await grid.reads(1, 1, 'Bert');

  // By arrow keys and Enter.
  await find('rows');
  await page.keyboard.press('ArrowDown');
  await palette.getByRole('option', { name: /^Sort rows/, selected: true }).waitFor();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Add a condition' }).waitFor();

  // Columns out of sight are found and scrolled to.
  await find('go next');
  await page.getByRole('button', { name: 'Add a condition' }).waitFor({ state: 'detached' });
  await shot(page, 'commands-found');
  await page.keyboard.press('Enter');
  await until('the column is in sight', async () => (await grid.cell(0, HEADERS.indexOf('Next step') + 1).count()) > 0);
  await find('no such command');
  await palette.getByText('No command matches “no such command”.').waitFor();
  await page.keyboard.press('Escape');
  await find('trash');
  await palette.getByRole('option', { name: /^Open the trash/ }).click();
  await page.getByRole('complementary', { name: 'Trash' }).waitFor();
  await page.getByRole('button', { name: 'Close the panel' }).click();

  // The keys, by key and by command; in a cell the same key is typed.
  await find('keyboard');
  await page.keyboard.press('Enter');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.getByText('Fill down').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'keyboard-help');
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Trash' }).focus();
  await page.keyboard.press('?');
  await help.waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });

  await find('another');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Another table' }).waitFor();
}
