// Somebody who has never seen it opens the printed link, takes the sample, runs it and sees cells fill; then adds a
// column of their own and tries it before saving.
import assert from 'node:assert/strict';
import { gridOf, shot } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function firstMinute({ server, page }) {
  const startedAt = Date.now();
  await page.goto(server.link);
  await page.getByText('A table whose columns fill themselves').waitFor();
  await shot(page, 'projects-empty');
  await page.getByRole('button', { name: 'Open the sample project' }).click();
  await page.getByTestId('data-grid-canvas').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  const projectId = page.url().split('/').at(-1);
  const status = () => server.api('GET', `/projects/${projectId}/status`);

  // Nothing was pressed but the sample's button.
  await until('every cell of the sample is done', async () => {
    const { columns } = await status();
    const counts = Object.values(columns);
    return counts.length > 0 && counts.every(({ idle, queued, generating }) => idle + queued + generating === 0);
  });
  await page.getByText('Run ended').waitFor();
  await shot(page, 'table-sample');
  assert.ok(Date.now() - startedAt < 60_000, 'the first minute took longer than a minute');

  await page.getByRole('button', { name: 'Column', exact: true }).click();
  await shot(page, 'panel-gallery');
  await page.getByRole('button', { name: /^Reference/ }).click();
  await page.getByLabel('Header').fill('Language');
  await page.getByRole('combobox', { name: 'Take a part of' }).click();
  const { project } = await server.api('GET', `/projects/${projectId}`);
  const scraped = project.columns.find((column) => column.dataShape === 'scrape-result');
  await page.getByRole('option', { name: scraped.header, exact: true }).click();
  await page.getByRole('button', { name: 'statusCode' }).click();
  await shot(page, 'panel-reference');
  await page.getByRole('button', { name: 'Create column' }).click();
  await gridOf(page).reads(0, project.columns.length, '200');
}
