// Prompts of an AI column side by side, scored against a column of expected answers; the best one goes into the column.
import assert from 'node:assert/strict';
import http from 'node:http';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';

const CITIES = { Acme: 'Ulm', Birch: 'Bath' };

export default async function compare({ server, page }) {
  const model = await startModel();
  try {
    await server.api('PUT', '/team/providers/openai', { apiKey: 'sk-1', baseUrl: model.url, model: 'small' });
    const { project } = await server.api('POST', '/projects', {
      title: 'Compared',
      columns: [
        { templateId: 'manual', header: 'Company' },
        { templateId: 'manual', header: 'Right city' },
        { templateId: 'ai-text', header: 'City', aiConfig: { prompt: 'Where is @{Company}?' } },
      ],
    });
    const rows = Object.entries(CITIES).map(([Company, city]) => ({ Company, 'Right city': city }));
    await server.api('POST', `/projects/${project.id}/rows`, [{ Company: 'Nameless' }, ...rows]);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await compares(page, server, project);
  } finally {
    model.stop();
  }
}

async function compares(page, server, project) {
  const { id } = project.columns.find(({ header }) => header === 'City');
  await gridOf(page).select(0, 3);
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Configure column' }).click();
  const panel = page.getByRole('complementary');
  await panel.getByRole('button', { name: 'Compare prompts' }).click();
  const dialog = page.getByRole('dialog', { name: 'Compare prompts' });
  const second = dialog.getByRole('group', { name: 'Variant B' });
  await second.getByRole('textbox', { name: 'Prompt' }).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' Answer with the city only.');
  await dialog.getByRole('combobox', { name: 'Expected answers' }).click();
  await page.getByRole('option', { name: 'Right city' }).click();
  await shot(page, 'compare-form');
  await dialog.getByRole('button', { name: 'Compare', exact: true }).click();
  const table = dialog.getByRole('region', { name: 'Comparison' });
  await table.getByText('100 % of 2 rows').waitFor();
  await table.getByText('0 % of 2 rows', { exact: true }).waitFor();
  await table.getByText('Best').waitFor();
  assert.equal(await table.getByText('$1.00').count(), 2, 'the cost of 1,000 rows');
  assert.equal(await table.getByText('Nameless').count(), 0, 'a row without an expected answer');
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'compare-result');
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 760 });
  await shot(page, 'compare-phone');
  await page.setViewportSize({ width, height });

  await table.getByRole('button', { name: 'Use this one: Variant B' }).click();
  await dialog.waitFor({ state: 'detached' });
  await panel.getByRole('button', { name: 'Save', exact: true }).click();
  await panel.getByRole('button', { name: 'Run this column' }).waitFor();
  const { column } = await server.api('GET', `/projects/${project.id}/columns/${id}`);
  await attaches(page, server, project, id);
  assert.match(column.aiConfig.prompt, /^Where is @\{\w+\}\? Answer with the city only\.$/);
}

/** A column with addresses of images is chosen to go with the prompt. */
async function attaches(page, server, project, id) {
  const panel = page.getByRole('complementary');
  await panel.getByRole('combobox', { name: 'Images and files' }).click();
  await page.getByRole('option', { name: 'Company' }).click();
  await panel.getByLabel('Header').click();
  await shot(page, 'attachments');
  await panel.getByRole('button', { name: 'Save', exact: true }).click();
  await panel.getByRole('button', { name: 'Run this column' }).waitFor();
  const { column } = await server.api('GET', `/projects/${project.id}/columns/${id}`);
  const company = project.columns.find(({ header }) => header === 'Company');
  assert.deepEqual(column.aiConfig.attachments, [`@{${company.id}}`]);
}

/** Knows where companies are, and is brief only if asked to be. */
async function startModel() {
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const prompt = JSON.parse(text).messages.at(-1).content;
      const [, city] = Object.entries(CITIES).find(([company]) => prompt.includes(company)) ?? ['', 'nowhere'];
      const content = prompt.includes('only') ? city : `The company is in ${city}, as far as I know.`;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ model: 'small', choices: [{ message: { content }, finish_reason: 'stop' }], usage: { cost: 0.001 } }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
