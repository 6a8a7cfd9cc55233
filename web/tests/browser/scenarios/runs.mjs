// A run is chosen and estimated before it starts, says what it waits for, and is summed up when it is over.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startModel } from '../harness/model.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

export default async function runs({ server, page }) {
  const [provider, model] = [await startProvider(30), await startModel(0.005)];
  try {
    await server.api('PUT', '/team/providers/openai', { apiKey: 'sk-1', baseUrl: model.url });
    await signIn(page, server);
    await estimates(page, server);
    await explainsFailures(page, server, provider);
    await saysWhatItWaitsFor(page, server, provider);
  } finally {
    provider.stop();
    model.stop();
  }
}

const strip = (page) => page.getByRole('region', { name: 'Run progress' });
const dialogOf = (page) => page.getByRole('dialog');

async function inEveryLook(page, name) {
  const { width, height } = page.viewportSize();
  for (const [look, colorScheme, size] of [
    ['light', 'light', { width, height }],
    ['dark', 'dark', { width, height }],
    ['phone', 'light', { width: 390, height: 780 }],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await shot(page, `${look}-${name}`);
    assert.deepEqual(await seriousFindings(page), [], `${name}, ${look}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width, height });
}

async function choose(dialog, label, option) {
  await dialog.getByRole('combobox', { name: label }).click();
  await dialog.page().getByRole('option', { name: option }).click();
}

// The dialog says cells, dollars and time, and what is left out, for each choice of rows.
async function estimates(page, server) {
  const prompt = (about) => ({ aiConfig: { prompt: `${about} of @{Name}?`, model: 'gpt-4o-mini' } });
  const { project } = await server.api('POST', '/projects', {
    title: 'Estimated',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'ai-text', header: 'Line', ...prompt('Line') },
      { templateId: 'ai-text', header: 'Industry', ...prompt('Industry') },
    ],
  });
  await server.api('POST', `/projects/${project.id}/rows`, Array.from({ length: 150 }, (_, index) => ({ Name: `n${index}` })));
  await server.api('POST', `/projects/${project.id}/trigger`, { limit: 20, columnIds: ['Line'] });
  await until('the first cells have run', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const dialog = dialogOf(page);
  await page.getByRole('dialog', { name: 'Run 280 cells in 2 columns?' }).waitFor();
  await dialog.getByText('Not run: 20 done already.').waitFor();
  await dialog.getByText(/\$\d+\.\d+ to \$\d+\.\d+|\$\d+\.\d\d/).first().waitFor();

  await choose(dialog, 'Rows', 'First rows');
  await dialog.getByLabel('How many rows').fill('30');
  await page.getByRole('dialog', { name: 'Run 40 cells in 2 columns?' }).waitFor();
  await choose(dialog, 'Cells', /^Failed cells only/);
  await dialog.getByText('No cells have failed.').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Run 0' }).isDisabled());
  await choose(dialog, 'Cells', 'All cells again');
  await dialog.getByRole('combobox', { name: 'Columns' }).click();
  await page.getByRole('option', { name: 'Line' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Run 30 cells in “Line”?' }).waitFor();
  await dialog.getByText('From the last cells of these columns.').waitFor();
  await shot(page, 'run-dialog-chosen');
  await dialog.getByRole('button', { name: 'Run 30', exact: true }).click();

  // The estimate stands beside what it took.
  await strip(page).getByText(/^30 cells · \$0\.15 \(estimated \$0\.15\)$/).waitFor();
  await strip(page).getByRole('button', { name: 'Details' }).click();
  const panel = page.getByRole('complementary', { name: 'Run' });
  await panel.getByText(/^Finished in/).waitFor();
  await panel.getByRole('row', { name: /^Cost/ }).getByText('$0.15').first().waitFor();
  await panel.getByRole('list', { name: 'Outcome' }).getByText('30 done').waitFor();
  await panel.getByRole('button', { name: 'Close the panel' }).click();
  // The header tells what the column has cost: 20 cells before, and 30 now.
  await gridOf(page).hover(-1, 2);
  await page.getByRole('tooltip').getByText('This column so far: $0.25').waitFor();
  await shot(page, 'header-cost');
  // It is drawn in the header, too; a click shows past runs.
  const canvas = await page.getByTestId('data-grid-canvas').boundingBox();
  const list = page.getByRole('complementary', { name: 'Runs' });
  await until('a click on the cost shows past runs', async () => {
    await page.mouse.click(canvas.x + 60 + 3 * 190 - 30 - 37 - 4 - 18, canvas.y + 18);
    return list.waitFor({ timeout: 1_000 }).then(() => true, () => false);
  });
  await list.getByRole('button', { name: 'Close the panel' }).click();
}

// Failures are told by their cause, and each can be tried again. Past runs are in the palette.
async function explainsFailures(page, server, provider) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Failing',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'http-api', header: 'Found', apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' } } },
    ],
  });
  const names = ['a', 'fail1', 'none1', 'fail2', '', 'b'];
  await server.api('POST', `/projects/${project.id}/rows`, names.map((Name) => ({ Name })));
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await strip(page).getByText('Run finished').waitFor();
  await strip(page).getByText('2 done, 1 empty, 2 failed, 1 skipped').waitFor();
  await strip(page).getByText('No credit left: 2').waitFor();
  await inEveryLook(page, 'run-failed');
  const asked = provider.asked.length;
  await strip(page).getByRole('button', { name: 'Retry these' }).click();
  await until('those that failed are tried again', async () => (await server.api('GET', `/projects/${project.id}/runs`)).runs.length === 2);
  await until('and nothing else', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
  assert.deepEqual(provider.asked.slice(asked).sort(), ['fail1', 'fail2']);

  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find a command' }).fill('past runs');
  await page.getByRole('option', { name: 'Show past runs' }).click();
  const list = page.getByRole('complementary', { name: 'Runs' });
  await list.getByRole('row').nth(2).getByRole('button').click();
  const panel = page.getByRole('complementary', { name: 'Run', exact: true });
  await panel.getByText('No credit left: 2 cells').waitFor();
  await panel.getByText('Input missing: 1 cell').waitFor();
  await panel.getByRole('button', { name: 'Retry these' }).waitFor();
  await inEveryLook(page, 'run-causes');
  await panel.getByRole('button', { name: 'Back' }).click();
  await list.getByRole('row').nth(1).waitFor();
  await list.getByRole('button', { name: 'Close the panel' }).click();
}

// The strip says what holds a run back, and no time that has nothing to do with it.
async function saysWhatItWaitsFor(page, server, provider) {
  const column = (header, more) => ({ templateId: 'http-api', header, apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' } }, ...more });
  const waiting = async (title, columns, rows, words, look) => {
    const { project } = await server.api('POST', '/projects', { title, columns: [{ templateId: 'manual', header: 'Name' }, ...columns] });
    await server.api('POST', `/projects/${project.id}/rows`, rows);
    await openTable(page, server, project.id);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await strip(page).getByText(words).waitFor();
    assert.equal(await strip(page).getByText('less than a second').count(), 0);
    await inEveryLook(page, look);
    await page.getByRole('banner').getByRole('button', { name: 'Stop' }).click();
    await strip(page).getByText('Stopped', { exact: true }).waitFor();
  };
  const rows = Array.from({ length: 5 }, (_, index) => ({ Name: `n${index}` }));
  const limit = { rateLimit: { requests: 1, perSeconds: 60 } };
  await waiting('Limited', [column('Slow', limit)], rows, 'Limited to 1 call a minute by the settings of “Slow”.', 'run-limited');
  await waiting('Held back', [column('Found')], [{ Name: 'later' }], /^1 cell held back by the provider’s rate limit\. Next try at /, 'run-held-back');

  await server.api('PUT', '/team/spending', { caps: [{ scope: 'team', period: 'day', usd: 0.01 }] });
  const ai = { templateId: 'ai-text', header: 'Line', aiConfig: { prompt: '@{Name}?', model: 'gpt-4o-mini' } };
  await waiting('Capped', [ai], rows, /^Waiting for the spending cap: The team's cap of \$0\.01 a day is reached; this goes on .* or when the cap is raised\.$/, 'run-capped');
  await server.api('PUT', '/team/spending', { caps: [] });
  await gridOf(page).has(1);
}
