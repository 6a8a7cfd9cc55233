// A reference that finds nothing says why, and leads to the picker of paths.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';

export default async function references({ server, page }) {
  const { project } = await server.api('POST', '/projects', { title: 'Referring', columns: [{ templateId: 'manual', header: 'Profile' }] });
  const source = project.columns.find(({ header }) => header === 'Profile').id;
  await server.api('POST', `/projects/${project.id}/columns`, { templateId: 'reference', header: 'Company', referenceConfig: { columnId: source, path: 'company.nme' } });
  await server.api('POST', `/projects/${project.id}/rows`, [{ Profile: { company: { name: 'Mill Ltd', city: 'Turin' } } }, { Profile: null }]);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.select(0, 2);
  await page.keyboard.press('Space');
  const panel = page.getByRole('complementary');
  await panel.getByText('Nothing found at company.nme: company has name, city.').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'reference-empty');
  await panel.getByRole('button', { name: 'Choose another path' }).click();
  await panel.getByText('Nothing found at company.nme: company has name, city.').waitFor();
  await panel.getByRole('button', { name: 'name', exact: true }).click();
  assert.equal(await panel.getByText(/^Nothing found at/).count(), 0);
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'reference-path');
  await panel.getByRole('button', { name: 'Save' }).click();
  await grid.reads(0, 2, 'Mill Ltd');
  await panel.getByRole('button', { name: 'Close the panel' }).click();

  await grid.select(1, 2);
  await page.keyboard.press('Space');
  await panel.getByText('The source cell of this row is empty. Run that column first, or choose another row.').waitFor();
}
