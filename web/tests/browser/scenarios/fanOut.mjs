// A list becomes rows of another table: the form fills its mapping by itself, and a cell leads to its rows.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';

const manual = (header) => ({ templateId: 'manual', header });

export default async function fanOut({ server, page }) {
  const { project: people } = await server.api('POST', '/projects', { title: 'People', columns: [manual('Full name'), manual('Email'), manual('Firm')] });
  const { project: other } = await server.api('POST', '/projects', { title: 'Leads', columns: [manual('Nothing alike')] });
  const { project } = await server.api('POST', '/projects', { title: 'Companies', columns: [manual('Company'), manual('Team')] });
  const team = [{ name: 'Ada L', email: 'ada@acme.test' }, { name: 'Bob', email: 'bob@acme.test' }, { name: 'No address' }];
  await server.api('POST', `/projects/${project.id}/rows`, [{ Company: 'Acme', Team: { staff: team } }]);
  await signIn(page, server);
  await openTable(page, server, project.id);
  const panel = page.getByRole('complementary');
  const choose = async (label, option) => {
    await panel.getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };

  await page.getByRole('button', { name: 'Add column' }).click();
  await panel.getByRole('button', { name: /^Fan-out/ }).click();
  await panel.getByRole('button', { name: 'Create column' }).click();
  await panel.getByText('Choose a column with a list.').waitFor();
  await choose('Column with the list', 'Team');
  assert.equal(await panel.getByLabel('Path to the list').inputValue(), 'staff');
  await choose('Target table', 'Leads');
  await panel.getByRole('textbox', { name: 'Nothing alike' }).waitFor();
  await choose('Target table', 'People');
  const field = (name) => panel.getByRole('textbox', { name, exact: true });
  await field('Firm').waitFor();
  assert.deepEqual(await Promise.all(['Full name', 'Email', 'Firm'].map((name) => field(name).innerText())), ['$.name', '$.email', '']);
  assert.equal(await panel.getByRole('combobox', { name: 'Find rows again by' }).inputValue(), 'Email');
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'fan-out-form');
  await panel.getByRole('button', { name: 'Create column' }).click();
  await page.getByRole('complementary', { name: 'Fan-out', exact: true }).waitFor();
  const { columns } = await server.api('GET', `/projects/${project.id}/columns`);
  const { fanOut: stored } = columns.find(({ header }) => header === 'Fan-out').taskConfig;
  assert.deepEqual([Object.values(stored.mapping).sort(), stored.targetProjectId], [['$.email', '$.name'], people.id]);
  assert.ok(other.id !== people.id);

  await server.api('POST', `/projects/${project.id}/trigger`, {});
  const grid = gridOf(page);
  await grid.reads(0, 3, 'created 2 · updated 0 · unchanged 0 · left out 1');
  await panel.getByRole('button', { name: 'Close the panel' }).click();
  await grid.select(0, 3);
  await page.keyboard.press('Space');
  await panel.getByText('The rows are in').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'fan-out-cell');
  await panel.getByRole('link', { name: 'People' }).click();
  await page.waitForURL(`**/projects/${people.id}*`);
  await grid.reads(0, 2, 'ada@acme.test');
}
