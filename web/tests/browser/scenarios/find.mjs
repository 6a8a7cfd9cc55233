// Finding one's way: filters and search in the address, columns found and moved in their list, starred projects.
import assert from 'node:assert/strict';
import { signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function find({ server, page }) {
  const headers = ['Name', 'City', 'Country', 'Phone', 'Notes', 'Owner', 'Stage', 'Score'];
  const { project } = await server.api('POST', '/projects', { title: 'Leads', columns: headers.map((header) => ({ templateId: 'manual', header })) });
  await server.api('POST', '/projects', { title: 'Archive' });
  await server.api('POST', `/projects/${project.id}/rows`, [
    { Name: 'Ada', City: 'London' },
    { Name: 'Alan', City: 'London' },
    { Name: 'Grace', City: 'New York' },
  ]);
  await signIn(page, server);
  const rows = (count) => page.getByText(new RegExp(`^${count} rows?\\b`)).first().waitFor();

  const city = project.columns.find(({ header }) => header === 'City').id;
  const filters = JSON.stringify([{ columnId: city, operator: 'equals', value: 'London' }]);
  await page.goto(`${server.url}/projects/${project.id}?filters=${encodeURIComponent(filters)}`);
  await rows(2);
  await page.getByRole('button', { name: 'Filter · 1' }).waitFor();
  await page.getByRole('textbox', { name: 'Search all cells' }).fill('Ada');
  await rows(1);
  await until('the search is in the address', async () => new URL(page.url()).searchParams.get('q') === 'Ada');
  await page.reload();
  await rows(1);
  assert.equal(await page.getByRole('textbox', { name: 'Search all cells' }).inputValue(), 'Ada');
  await page.getByRole('textbox', { name: 'Search all cells' }).fill('');
  await rows(2);
  assert.equal(new URL(page.url()).searchParams.get('filters'), filters);
  assert.equal(new URL(page.url()).searchParams.get('q'), null);

  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('textbox', { name: 'Find a column' }).fill('sco');
  await until('one is found', async () => (await page.getByRole('button', { name: /^Configure / }).count()) === 1);
  await page.getByRole('textbox', { name: 'Find a column' }).fill('');
  const handle = page.getByRole('button', { name: 'Move Score' });
  await handle.focus();
  await page.keyboard.press('Space');
  await until('it is lifted', async () => (await handle.getAttribute('aria-pressed')) === 'true');
  // The list measures itself before it listens to the arrows.
  await page.waitForTimeout(300);
  await page.keyboard.press('ArrowUp');
  await page.waitForTimeout(300);
  await page.keyboard.press('Space');
  await until('Score comes before Stage', async () => {
    const { columns } = (await server.api('GET', `/projects/${project.id}`)).project;
    return columns.map(({ header }) => header).slice(-2).join() === 'Score,Stage';
  });

  await page.goto(server.url);
  const titles = () => page.locator('li a').allTextContents();
  await until('the one opened last comes first', async () => (await titles())[0] === 'Leads');
  await page.getByRole('button', { name: 'Star Archive' }).click();
  await until('the starred one comes first', async () => (await titles())[0] === 'Archive');
  await page.reload();
  await until('it stays so', async () => (await titles())[0] === 'Archive');
}
