// An AI column can go through batches: the form offers it, and the run dialog says how long it may take and what it saves.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startModel } from '../harness/model.mjs';
import { until } from '../harness/until.mjs';

export default async function batches({ server, page }) {
  const model = await startModel(0.005);
  try {
    await server.api('PUT', '/team/providers/openai', { apiKey: 'sk-1', baseUrl: model.url });
    const { project } = await server.api('POST', '/projects', {
      title: 'At half the price',
      columns: [
        { templateId: 'manual', header: 'Name' },
        { templateId: 'ai-text', header: 'Line', aiConfig: { prompt: 'What is @{Name}?', model: 'gpt-4o-mini' } },
      ],
    });
    await server.api('POST', `/projects/${project.id}/rows`, Array.from({ length: 150 }, (_, index) => ({ Name: `n${index}` })));
    await signIn(page, server);
    await openTable(page, server, project.id);
    await choosesBatches(page);
    await until('the choice is saved', async () => {
      const { project: saved } = await server.api('GET', `/projects/${project.id}`);
      return saved.columns.find(({ header }) => header === 'Line').aiConfig.processing === 'batch';
    });
    await tellsWhatIsSaved(page);
  } finally {
    model.stop();
  }
}

async function choosesBatches(page) {
  await gridOf(page).select(0, 2);
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Configure column' }).click();
  const panel = page.getByRole('complementary');
  await panel.getByRole('combobox', { name: 'Process' }).click();
  await page.getByRole('option', { name: 'In batches (half price, up to 24 hours)' }).click();
  await shot(page, 'batches-form');
  assert.deepEqual(await seriousFindings(page), []);
  await panel.getByRole('button', { name: 'Save', exact: true }).click();
}

async function tellsWhatIsSaved(page) {
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/150 cells in batches: results within 24 hours\. Saves about \$0\.\d+\./).waitFor();
  await dialog.getByText('≤ 24 h').waitFor();
  await shot(page, 'batches-estimate');
  assert.deepEqual(await seriousFindings(page), []);
}
