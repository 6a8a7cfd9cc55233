// Caps and prices are set in the settings; caps show how far they are used.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { shot, signIn } from '../harness/browser.mjs';
import { startModel } from '../harness/model.mjs';
import { until } from '../harness/until.mjs';

export default async function spending({ server, page }) {
  const model = await startModel(0.5);
  try {
    await server.api('PUT', '/team/providers/openai', { apiKey: 'sk-1', baseUrl: model.url });
    const { project } = await server.api('POST', '/projects', {
      title: 'Leads for spring',
      columns: [
        { templateId: 'manual', header: 'Name' },
        { templateId: 'ai-text', header: 'Line', aiConfig: { prompt: '@{Name}?', model: 'gpt-4o-mini' } },
      ],
    });
    await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'a' }, { Name: 'b' }, { Name: 'c' }]);
    await server.api('POST', `/projects/${project.id}/trigger`, {});
    await until('the cells have run', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
    await signIn(page, server);
    await page.goto(`${server.url}/settings/spending`);
    await setsCaps(page, server);
    await setsPrices(page, server);
    await page.getByRole('row', { name: /^All/ }).getByText('$1.50').waitFor();
    await looksRight(page);
  } finally {
    model.stop();
  }
}

const capsOf = async (server) => (await server.api('GET', '/team/spending')).caps;

async function pick(page, form, label, option) {
  await form.getByRole('combobox', { name: label }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

async function setsCaps(page, server) {
  const form = page.getByRole('form', { name: 'Add a cap' });
  const add = form.getByRole('button', { name: 'Add cap' });
  assert.ok(await add.isDisabled(), 'a cap needs an amount');
  await form.getByLabel('At most').fill('20');
  await add.click();
  await page.getByText('$1.50 of $20.00 a month').waitFor();
  await pick(page, form, 'Cap for', 'One project');
  await pick(page, form, 'Project', 'Leads for spring');
  await pick(page, form, 'Each', 'day');
  await form.getByLabel('At most').fill('1');
  await add.click();
  await page.getByRole('listitem').filter({ hasText: 'Leads for spring' }).getByText('Reached').waitFor();
  await pick(page, form, 'Cap for', 'Each run');
  await form.getByLabel('At most').fill('5');
  await add.click();
  await page.getByRole('listitem').filter({ hasText: 'Each run' }).getByText('$5.00').waitFor();
  assert.deepEqual((await capsOf(server)).map(({ scope, usd }) => [scope, usd]), [['team', 20], ['project', 1], ['run', 5]]);
  await page.getByRole('button', { name: 'Remove the cap of $5.00' }).click();
  await until('the cap is removed', async () => (await capsOf(server)).length === 2);
}

async function setsPrices(page, server) {
  const form = page.getByRole('form', { name: 'Price of a model' });
  await form.getByLabel('Model').fill('house-model');
  await form.getByLabel(/^Input/).fill('0.5');
  await form.getByLabel(/^Output/).fill('1.5');
  await form.getByRole('button', { name: 'Set price' }).click();
  await page.getByText('$0.5 in, $1.5 out for a million tokens').waitFor();
  await page.getByText('A finder', { exact: true }).click();
  const finder = page.getByRole('form', { name: 'Price of a finder' });
  await pick(page, finder, 'Finder', 'Hunter');
  await finder.getByLabel('$ a search').fill('0.05');
  await finder.getByRole('button', { name: 'Set price' }).click();
  await page.getByText('$0.05 a search').waitFor();
  const { models, providers } = await server.api('GET', '/team/spending');
  assert.deepEqual([models['house-model'], providers.hunter.usdPerCall], [{ input: 0.5, output: 1.5 }, 0.05]);
}

async function looksRight(page) {
  const looks = [
    ['light', 'light', { width: 1360, height: 1100 }],
    ['dark', 'dark', { width: 1360, height: 1100 }],
    ['phone', 'light', { width: 390, height: 1400 }],
  ];
  for (const [look, colorScheme, size] of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await shot(page, `${look}-settings-spending-used`);
    assert.deepEqual(await seriousFindings(page), [], look);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= size.width, `${look}: ${width} px wide`);
  }
}
