// A new user opens the sign-in link, opens the sample project and sees cells fill; then adds a column and tries it before
// saving.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, shot } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function firstMinute({ server, page }) {
  const startedAt = Date.now();
  await page.goto(server.link);
  await page.getByText('A table whose columns fill themselves').waitFor();
  await shot(page, 'projects-empty');
  await page.getByRole('button', { name: 'Open sample project' }).click();
  await page.getByTestId('data-grid-canvas').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  const projectId = page.url().split('/').at(-1);
  const status = () => server.api('GET', `/projects/${projectId}/status`);

  // The run starts by itself.
  await until('every cell of the sample is done', async () => {
    const { columns } = await status();
    const counts = Object.values(columns);
    return counts.length > 0 && counts.every(({ idle, queued, generating }) => idle + queued + generating === 0);
  });
  await page.getByText('Run finished').waitFor();
  await shot(page, 'table-sample');
  assert.ok(Date.now() - startedAt < 60_000, 'the first minute took longer than a minute');

  await page.getByRole('button', { name: 'Add column' }).click();
  await shot(page, 'panel-gallery');
  await page.getByRole('button', { name: /^Reference/ }).click();
  await page.getByLabel('Header').fill('Language');
  await page.getByRole('combobox', { name: 'Source column' }).click();
  const { project } = await server.api('GET', `/projects/${projectId}`);
  const scraped = project.columns.find((column) => column.dataShape === 'vendor-scrape-result');
  await page.getByRole('option', { name: scraped.header, exact: true }).click();
  await page.getByRole('button', { name: 'statusCode' }).click();
  await shot(page, 'panel-reference');
  await page.getByRole('button', { name: 'Create column' }).click();
  await gridOf(page).reads(0, project.columns.length, '200');
  await ownTable(server, page);
}


/** A new table starts with one column, which explains itself and can be named. */
async function ownTable(server, page) {
  const grid = gridOf(page);
  await page.getByRole('link', { name: 'Rowmill, all projects' }).click();
  await page.getByRole('button', { name: 'New project' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('My own');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByText('No rows yet').waitFor();
  await grid.hover(-1, 0);
  await page.getByRole('tooltip').getByText('It is empty.').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'table-first-column');
  await grid.rightClick(-1, 0);
  await page.getByRole('menuitem', { name: 'About this column' }).click();
  await page.getByRole('complementary').getByText('It cannot be deleted.').waitFor();
  await shot(page, 'panel-input');
  await page.getByRole('button', { name: 'Close the panel' }).click();

  await page.getByLabel('What is in the first column?').fill('Company');
  await page.getByRole('button', { name: 'Name it' }).click();
  await page.locator('[role=columnheader]', { hasText: 'Company' }).waitFor({ state: 'attached' });
  assert.ok(await page.getByText('No rows yet').isVisible());
  await grid.type(0, 0, 'Acme');
  const { projects: [own] } = await server.api('GET', '/projects');
  const { columns } = await server.api('GET', `/projects/${own.id}/columns`);
  assert.deepEqual(columns.map(({ id, header }) => [id, header]), [['_trigger', 'Company']]);
}
