// Filters, sorting and hidden columns: used, saved, changed and discarded.
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function views({ browser, server, page }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Cities',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'manual', header: 'Size' },
    ],
  });
  const rows = Array.from({ length: 300 }, (_, index) => ({ Name: `${index % 3 === 0 ? 'Town' : 'Village'} ${index}`, Size: index }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(12, 1, 'Town 12');
  await givesWay(page, grid);

  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByRole('textbox', { name: 'Value' }).fill('town');
  await page.getByText('100 rows match').waitFor();
  await page.getByText('Clear the filters to add rows').waitFor();
  await unfinished(page);
  await shot(page, 'table-filter');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Sort' }).click();
  await page.getByRole('button', { name: 'Add a column' }).click();
  await page.getByRole('combobox', { name: 'Sort by' }).click();
  await page.getByRole('option', { name: 'Size' }).click();
  await page.getByText('Z to A').click();
  await grid.reads(0, 1, 'Town 297');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Save as view' }).click();
  await page.getByLabel('Name').fill('Towns, largest first');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: 'Towns, largest first', exact: true }).waitFor();
  const { views: saved } = await server.api('GET', `/projects/${project.id}/views`);
  if (saved[0]?.sorting[0]?.direction !== 'desc') throw new Error(`The view was saved as ${JSON.stringify(saved)}`);

  await page.getByRole('button', { name: 'Filter · 1' }).click();
  await page.getByRole('button', { name: 'Remove this condition' }).click();
  await page.getByText('300 rows', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await page.getByText('100 rows match').waitFor();

  await page.getByRole('button', { name: 'All rows' }).click();
  await grid.reads(0, 1, 'Town 0');
  await page.getByLabel('Search all cells').fill('Village 100');
  await until('one row is found', () => page.getByText('1 row matches').isVisible());

  await page.getByLabel('Search all cells').fill('nowhere');
  await page.getByText('No matching rows').waitFor();
  await shot(page, 'table-no-match');
  await page.getByRole('button', { name: 'Clear the search' }).last().click();
  await grid.reads(0, 1, 'Town 0');
  await addresses(browser, server, page, saved[0].id);
  await byHeader(page, grid);
  await deleted(server, page, project, saved[0].id);
}

/** A popover closes on a press in the table and on Escape. */
async function givesWay(page, grid) {
  const box = page.getByRole('dialog');
  const open = async (name) => {
    await page.getByRole('button', { name, exact: true }).click();
    await until(`the keyboard is in ${name}`, () => box.evaluate((element) => element.contains(document.activeElement)));
  };
  for (const name of ['Filter', 'Sort', 'Columns']) {
    await open(name);
    await grid.select(12, 1);
    await box.waitFor({ state: 'detached' });
    await open(name);
    await page.getByTestId('data-grid-canvas').focus();
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'detached' });
  }
}

/** An incomplete condition is marked and not sent: the table stays as it was. */
async function unfinished(page) {
  const box = page.getByRole('dialog');
  const match = box.getByRole('combobox', { name: 'Combine conditions' });
  await box.getByRole('textbox', { name: 'Value' }).fill('');
  await box.getByText('Type a value. Until then').waitFor();
  await page.getByText('100 rows match').waitFor();
  await box.getByRole('textbox', { name: 'Value' }).fill('town');

  await box.getByRole('button', { name: 'Add a condition' }).click();
  await box.getByRole('combobox', { name: 'Column' }).last().click();
  await box.getByRole('option', { name: 'Size' }).click();
  await box.getByText('Type a number. Until then').waitFor();
  const comparison = box.getByRole('combobox', { name: 'Comparison' }).last();
  await comparison.click();
  if ((await box.getByRole('option').allTextContents()).includes('contains')) throw new Error('text comes first for numbers');
  await shot(page, 'table-filter-comparisons');
  await box.getByRole('option', { name: 'More comparisons…' }).click();
  await box.getByRole('option', { name: 'matches the pattern' }).click();
  await box.getByRole('textbox', { name: 'Value' }).last().fill('^(1');
  await box.getByText('This pattern is not valid').waitFor();
  await page.getByText('100 rows match').waitFor();
  await box.getByRole('textbox', { name: 'Value' }).last().fill('^(10|1)$');
  await page.getByText('0 rows match').waitFor();
  await match.click();
  await box.getByRole('option', { name: 'Match any of these' }).click();
  await page.getByText('102 rows match').waitFor();
  await box.getByRole('button', { name: 'Remove this condition' }).last().click();
  await match.click();
  await box.getByRole('option', { name: 'Match all of these' }).click();
  await page.getByText('100 rows match').waitFor();
}

/** The URL of a view works for reload, back and sharing. */
async function addresses(browser, server, page, viewId) {
  const open = page.getByRole('navigation', { name: 'Views' }).locator('[aria-current]');
  const isOpen = (name) => until(`${name} is open`, async () => (await open.textContent()) === name);
  await page.getByRole('button', { name: 'Towns, largest first', exact: true }).click();
  await page.waitForURL(`**?view=${viewId}`);
  await page.reload();
  await isOpen('Towns, largest first');
  await page.getByText('100 rows match').waitFor();
  await page.getByRole('button', { name: 'All rows' }).click();
  await isOpen('All rows');
  await page.goBack();
  await isOpen('Towns, largest first');
  await page.goForward();
  await isOpen('All rows');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goBack();
  await page.getByRole('button', { name: /^Menu for view/ }).click();
  await page.getByRole('menuitem', { name: 'Copy link' }).click();
  await page.getByText('Link copied.').waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  if (link !== page.url() || !link.startsWith(server.url)) throw new Error(`The link is ${link}`);

  // After signing in, the shared view opens.
  const other = await openWindow(browser);
  await other.page.goto(link);
  await other.page.getByLabel('API key').fill(server.key);
  await other.page.getByRole('button', { name: 'Sign in' }).click();
  await other.page.getByText('100 rows match').waitFor();
  await other.context.close();
}

/** A filter started in a header menu opens for editing. */
async function byHeader(page, grid) {
  await grid.rightClick(-1, 1);
  await page.getByRole('menuitem', { name: 'Filter by this column' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Value' }).last().waitFor();
}

/** A deleted view, open or by an old link, shows all rows and says why. */
async function deleted(server, page, project, viewId) {
  const told = page.getByText('It was deleted, or the link is wrong. All rows are shown.');
  const own = `${server.url}/projects/${project.id}`;
  const isTidy = () => until('the address names no view', () => page.url() === own);
  await page.goto(`${own}?view=${viewId}`);
  await page.getByText('100 rows match').waitFor();
  await server.api('DELETE', `/projects/${project.id}/views/${viewId}`);
  await told.waitFor();
  await page.getByText('300 rows', { exact: true }).waitFor();
  await isTidy();
  await page.goto(`${own}?view=${viewId}`);
  await told.waitFor();
  await isTidy();
  await page.reload();
  await page.getByText('300 rows', { exact: true }).waitFor();
  if (await told.isVisible()) throw new Error('it is said again');
}
