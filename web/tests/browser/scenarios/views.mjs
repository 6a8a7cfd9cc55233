// Filters, sorting and hidden columns, tried out, saved, changed and discarded.
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function views({ server, page }) {
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

  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByRole('textbox', { name: 'Value' }).fill('town');
  await page.getByText('100 rows match').waitFor();
  await shot(page, 'table-filter');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Sort' }).click();
  await page.getByRole('button', { name: 'Add a column' }).click();
  await page.getByRole('combobox', { name: 'Sort by' }).click();
  await page.getByRole('option', { name: 'Size' }).click();
  await page.getByText('Z to A').click();
  await grid.reads(0, 1, 'Town 297');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Save as a view' }).click();
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
  await until('one row is found', () => page.getByText('1 row match').isVisible());

  await page.getByLabel('Search all cells').fill('nowhere');
  await page.getByText('No row matches').waitFor();
  await shot(page, 'table-no-match');
  await page.getByRole('button', { name: 'Clear the search' }).last().click();
  await grid.reads(0, 1, 'Town 0');
}
