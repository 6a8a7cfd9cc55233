// Recipes: several columns at once, mapped by header and by values; saved from one table and used in another.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { signIn } from '../harness/browser.mjs';

export default async function recipes({ server, page }) {
  const manual = (header) => ({ templateId: 'manual', header });
  const { project } = await server.api('POST', '/projects', { title: 'Leads', columns: [manual('Company'), manual('Where')] });
  await server.api('POST', `/projects/${project.id}/rows`, [
    { Company: 'Copperline', Where: 'https://copperline.rowmill.example' },
    { Company: 'Bright Harbor', Where: 'https://bright-harbor.rowmill.example' },
  ]);
  const headers = async (id) => (await server.api('GET', `/projects/${id}`)).project.columns.map(({ header }) => header);
  await signIn(page, server);
  await page.goto(`${server.url}/projects/${project.id}`);
  await page.getByRole('button', { name: 'Add column' }).first().click();
  await page.getByRole('button', { name: /^Company profile from a website/ }).click();
  const panel = page.getByRole('complementary', { name: 'Company profile from a website' });
  assert.equal(await panel.getByRole('combobox', { name: 'Website' }).inputValue(), 'Where');
  await panel.getByText('Chosen by its values.').waitFor();
  await panel.getByText('This recipe needs a language model.').waitFor();
  await panel.getByText('Reads “Website”').waitFor();
  await panel.getByRole('button', { name: 'Add 4 columns' }).click();
  await page.getByText('4 columns added.').waitFor();
  assert.deepEqual(await headers(project.id), ['Input', 'Company', 'Where', 'Website text', 'Profile', 'What they do', 'Industry']);
  const { columns } = (await server.api('GET', `/projects/${project.id}`)).project;
  const [where, text, profile, summary] = ['Where', 'Website text', 'Profile', 'What they do'].map((header) => columns.find((column) => column.header === header));
  assert.equal(text.taskConfig.webScraper.url, `@{${where.id}}`);
  assert.ok(profile.aiConfig.prompt.includes(`@{${text.id}.markdown}`));
  assert.deepEqual(summary.referenceConfig, { columnId: profile.id, path: 'summary' });

  // Saved, and used in another table.
  await page.keyboard.press('Control+K');
  const command = page.getByRole('option', { name: 'Save columns as a recipe' });
  await command.waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), command.click()]);
  assert.equal(download.suggestedFilename(), 'Leads.recipe.json');
  const saved = JSON.parse(await readFile(await download.path(), 'utf8'));
  assert.deepEqual([saved.inputs, saved.columns.length], [['Where'], 4]);
  const { project: other } = await server.api('POST', '/projects', { title: 'Others', columns: [manual('Homepage')] });
  await page.goto(`${server.url}/projects/${other.id}`);
  await page.getByRole('button', { name: 'Add column' }).first().click();
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Use a recipe from a file' }).click();
  await (await choosing).setFiles({ name: 'leads.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(saved)) });
  const loaded = page.getByRole('complementary', { name: 'Leads' });
  assert.ok(await loaded.getByRole('button', { name: 'Add 4 columns' }).isDisabled(), 'a column is to be chosen first');
  await loaded.getByRole('combobox', { name: 'Where' }).click();
  await page.getByRole('option', { name: 'Homepage' }).click();
  await loaded.getByRole('button', { name: 'Add 4 columns' }).click();
  await page.getByText('4 columns added.').waitFor();
  assert.equal((await headers(other.id)).length, 6);
}
