// The result of a run: its cost, that it found nothing, and that it is out of date.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startModel } from '../harness/model.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

export default async function outcomes({ server, page }) {
  const [provider, model] = [await startProvider(), await startModel(0.005)];
  try {
    await server.api('PUT', '/team/providers/openai', { apiKey: 'sk-1', baseUrl: model.url, model: 'small' });
    await signIn(page, server);
    await tellsCost(page, server);
    await tellsEmpty(page, server, provider);
  } finally {
    provider.stop();
    model.stop();
  }
}

const strip = (page) => page.getByRole('region', { name: 'Run progress' });

async function tellsCost(page, server) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Priced',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'ai-text', header: 'Line', aiConfig: { prompt: 'What is @{Name}?' }, rateLimit: { requests: 4, perSeconds: 1 } },
    ],
  });
  await server.api('POST', `/projects/${project.id}/rows`, Array.from({ length: 8 }, (_, index) => ({ Name: `n${index}` })));
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await strip(page).getByText(/\$0\.0\d+ so far/).waitFor();
  await shot(page, 'run-cost');
  await strip(page).getByText('8 cells · $0.04', { exact: true }).waitFor();
  await gridOf(page).select(0, 2);
  await page.keyboard.press('Space');
  await page.getByRole('complementary').getByText(/\$0\.005/).waitFor();
  await shot(page, 'cell-cost');
  await page.getByRole('button', { name: 'Configure column' }).click();
  const box = page.getByRole('region', { name: 'Try it' });
  await box.getByRole('button', { name: 'Try on this row' }).click();
  await box.getByText(/cost \$0\.005/).waitFor();
  await offersStaleCells(page, server, project);
}

// The prompt changes elsewhere: the column's panel says how many results are out of date, and runs them.
async function offersStaleCells(page, server, project) {
  const { id } = project.columns.find(({ header }) => header === 'Line');
  await server.api('PATCH', `/projects/${project.id}/columns/${id}`, { aiConfig: { prompt: 'Who is @{Name}?' } });
  const panel = page.getByRole('complementary');
  await panel.getByText('8 cells are out of date.').waitFor();
  await shot(page, 'stale-cells');
  await panel.getByRole('button', { name: 'Run them' }).click();
  await panel.getByText('out of date').waitFor({ state: 'detached' });
  const status = await server.api('GET', `/projects/${project.id}/status`);
  assert.equal(status.columns[id].stale, 0);
}

async function tellsEmpty(page, server, provider) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Mistyped',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'http-api', header: 'Found', apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' } } },
    ],
  });
  await server.api('POST', `/projects/${project.id}/rows`, Array.from({ length: 12 }, (_, index) => ({ Name: `none${index}` })));
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await strip(page).getByText('12 done, all of them empty: try the column on one row to see why').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'run-empty');
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 760 });
  await shot(page, 'run-empty-phone');
  await page.setViewportSize({ width, height });

  const grid = gridOf(page);
  const told = page.getByRole('tooltip').getByText('The server answered 404, which counts as nothing found.');
  // The table may still be on its way to its former size when the pointer comes.
  await until('the tooltip is there', async () => {
    await grid.hover(3, 1);
    await grid.hover(3, 2);
    return told.waitFor({ timeout: 2_000 }).then(() => true, () => false);
  });
  await shot(page, 'cell-empty-hover');
  await grid.select(3, 2);
  await page.keyboard.press('Space');
  const panel = page.getByRole('complementary');
  await panel.getByText('The server answered 404, which counts as nothing found.').waitFor();
  assert.equal(await panel.getByText('Done', { exact: true }).count(), 0, 'it is no success');
  await shot(page, 'panel-cell-empty');

  await page.getByRole('button', { name: 'Configure column' }).click();
  const box = page.getByRole('region', { name: 'Try it' });
  await box.getByRole('button', { name: 'Try on this row' }).click();
  await box.getByText('The server answered 404, which counts as nothing found.').waitFor();
  await box.getByText('Nothing found', { exact: true }).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'panel-try-empty');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shot(page, 'panel-try-empty-dark');
}
