// Deleting, undoing, and the trash of a project and of projects.
import assert from 'node:assert/strict';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function trash({ server, page }) {
  const columns = ['Name', 'City'].map((header) => ({ templateId: 'manual', header }));
  const { project } = await server.api('POST', '/projects', { title: 'People', columns });
  const [, name, city] = project.columns.map(({ id }) => id);
  const people = ['Ada', 'Alan', 'Grace'].map((person) => ({ Name: person, City: 'London' }));
  const { rows: ids } = await server.api('POST', `/projects/${project.id}/rows`, people);
  const listed = async () => (await server.api('GET', `/projects/${project.id}/rows`)).rows;
  const holds = (values) =>
    until(`the rows are ${values}`, async () => JSON.stringify((await listed()).map((row) => row.cells[name])) === JSON.stringify(values));
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);

  // Undo brings the row back to its place, under its id.
  await grid.select(1, 1);
  await page.keyboard.press('Shift+Space');
  const deleteSelected = () => page.getByRole('toolbar', { name: 'Selected rows' }).getByRole('button', { name: 'Delete' }).click();
  await deleteSelected();
  await holds(['Ada', 'Grace']);
  await page.getByRole('button', { name: 'Undo', exact: true }).last().click();
  await holds(['Ada', 'Alan', 'Grace']);
  assert.deepEqual((await listed()).map(({ id }) => id), ids);
  await grid.reads(1, 1, 'Alan');

  // The panel lists what was deleted and restores it.
  await grid.select(0, 1);
  await page.keyboard.press('Shift+Space');
  await deleteSelected();
  await holds(['Alan', 'Grace']);
  await server.api('DELETE', `/projects/${project.id}/columns/${city}`);
  await page.getByRole('button', { name: 'Trash', exact: true }).click();
  const panel = page.getByRole('complementary', { name: 'Trash' });
  await panel.getByText('1 row', { exact: true }).waitFor();
  await shot(page, 'trash-panel');
  await panel.getByRole('button', { name: 'Restore City' }).click();
  await page.getByText('Restored 1 column.').waitFor();
  await panel.getByRole('button', { name: 'Restore Ada', exact: false }).click();
  await holds(['Ada', 'Alan', 'Grace']);
  assert.equal((await listed())[0].cells[city], 'London');
  await grid.reads(0, 1, 'Ada');
  await panel.getByText('Nothing was deleted.').waitFor();

  // Emptying asks first.
  await server.api('DELETE', `/projects/${project.id}/rows`, { rowIds: [ids[2]] });
  await panel.getByRole('button', { name: 'Close the panel' }).click();
  await page.getByRole('button', { name: 'Trash', exact: true }).click();
  await panel.getByRole('button', { name: 'Empty trash' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Empty trash' }).click();
  await panel.getByText('Nothing was deleted.').waitFor();
  const { restoredRows } = await server.api('POST', `/projects/${project.id}/trash/restore`, { rowIds: [ids[2]] });
  assert.equal(restoredRows, 0);

  // A deleted project comes back from the list of projects.
  await server.api('DELETE', `/projects/${project.id}`);
  await page.goto(server.url);
  await page.getByRole('button', { name: /^(Trash|Deleted projects)$/ }).click();
  await shot(page, 'trash-projects');
  await page.getByRole('button', { name: 'Restore People' }).click();
  await page.getByText('No project was deleted.').waitFor();
  assert.equal((await listed()).length, 2);
}
