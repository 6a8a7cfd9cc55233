// The first week: sample tables, first steps that tick themselves off, copies of projects, folders, help beside forms.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function firstWeek({ browser, server, page }) {
  await page.goto(server.link);
  await page.getByRole('button', { name: /^Sales/ }).click();
  await page.getByTestId('data-grid-canvas').waitFor();
  const projectId = page.url().split('/').at(-1);
  const grid = gridOf(page);
  await grid.reads(0, 0, 'Alder & Finch');
  await until('every cell is done', async () => {
    return isFilled(await server.api('GET', `/projects/${projectId}/status`));
  });
  await firstSteps(page);
  await duplicate(page, server);
  await folders(page, server);
  await everySample(server, page);
  await otherLooks(browser, server);
}

/** Whether columns that run have run, in every row and without an error. */
function isFilled({ columns, rows }) {
  const counts = Object.values(columns);
  const isAtRest = counts.every(({ queued, generating, error }) => queued + generating + error === 0);
  return rows.total > 0 && isAtRest && counts.some(({ complete }) => complete === rows.total);
}

/** Running the sample was a step already; exporting is another. */
async function firstSteps(page) {
  const steps = page.getByRole('button', { name: /^First steps/ });
  await page.getByText('First steps · 1 of 5').waitFor();
  await page.getByRole('banner').getByRole('button', { name: 'Export' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: /^JSON Lines/ }).click()]);
  assert.match(file.suggestedFilename(), /\.jsonl$/);
  await page.getByText('First steps · 2 of 5').waitFor();
  await page.getByRole('button', { name: 'Add column' }).click();
  await page.getByRole('button', { name: /^HTTP/ }).click();
  const help = page.getByRole('link', { name: 'Read more' });
  assert.match(await help.getAttribute('href'), /docs\/first-table$/);
  await page.keyboard.press('Escape');
  await steps.click();
  await page.getByText('Import your list').waitFor();
  await shot(page, 'table-first-steps');
  assert.deepEqual(await seriousFindings(page), []);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await steps.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByText('Live', { exact: true }).waitFor();
  assert.equal(await steps.count(), 0);
}

/** A copy with rows opens, and is whole. */
async function duplicate(page, server) {
  await page.getByRole('button', { name: 'Project menu' }).click();
  await page.getByRole('menuitem', { name: 'Duplicate' }).click();
  const dialog = page.getByRole('dialog', { name: 'Duplicate project' });
  await dialog.getByLabel('Name').fill('Spring');
  await dialog.getByLabel('With its rows').check();
  await shot(page, 'dialog-duplicate');
  await dialog.getByRole('button', { name: 'Duplicate' }).click();
  await page.getByRole('heading', { name: 'Spring' }).waitFor();
  await gridOf(page).reads(0, 0, 'Alder & Finch');
  const opened = async () => (await server.api('GET', `/projects/${page.url().split('/').at(-1)}`)).project;
  await until('it is whole', async () => {
    const project = await opened();
    return project.copying === undefined && project.rowCount === 8;
  });
  // Without its rows, a copy has the columns.
  const { columns } = await opened();
  await page.getByRole('button', { name: 'Project menu' }).click();
  await page.getByRole('menuitem', { name: 'Duplicate' }).click();
  await dialog.getByLabel('Name').fill('Empty spring');
  await dialog.getByRole('button', { name: 'Duplicate' }).click();
  await page.getByRole('heading', { name: 'Empty spring' }).waitFor();
  await page.getByText('No rows yet').waitFor();
  const empty = await opened();
  assert.deepEqual([empty.rowCount, empty.columns.length], [0, columns.length]);
}

/** Projects are moved into folders, which filter the list; the search looks into all. */
async function folders(page, server) {
  await page.goto(server.url);
  const titles = () => page.locator('li a').allTextContents();
  await page.getByRole('button', { name: 'Menu for Spring' }).click();
  await page.getByRole('menuitem', { name: 'Move to folder' }).click();
  await page.getByRole('combobox', { name: 'Folder' }).fill('Campaigns');
  await page.getByRole('button', { name: 'Move', exact: true }).click();
  const folder = page.getByRole('navigation', { name: 'Folders' }).getByRole('button', { name: /^Campaigns/ });
  await folder.click();
  await until('only the folder’s projects are shown', async () => (await titles()).join() === 'Spring');
  await shot(page, 'projects-folders');
  await page.getByRole('textbox', { name: 'Search projects' }).fill('sales');
  await until('the search finds the others', async () => (await titles()).join() === 'Sample: sales pipeline');
  await page.getByRole('textbox', { name: 'Search projects' }).fill('campaign');
  await until('and folders by name', async () => (await titles()).join() === 'Spring');
  await page.getByRole('textbox', { name: 'Search projects' }).fill('nothing');
  await page.getByText('No project or folder is called “nothing”.').waitFor();
  await page.getByRole('button', { name: 'Clear the search' }).click();
  await page.reload();
  await until('the folder stays open', async () => (await titles()).join() === 'Spring');
  assert.deepEqual(await seriousFindings(page), []);
}

/** Every sample runs without a key. */
async function everySample(server, page) {
  for (const name of ['Recruiting', 'Events', 'Research']) {
    await page.goto(server.url);
    await page.getByRole('button', { name: 'Add sample project' }).click();
    await page.getByRole('menuitem', { name: new RegExp(`^${name}`) }).click();
    await page.getByTestId('data-grid-canvas').waitFor();
    const projectId = page.url().split('/').at(-1);
    await until(`${name} is filled`, async () => {
      return isFilled(await server.api('GET', `/projects/${projectId}/status`));
    });
    await page.waitForTimeout(300);
    await shot(page, `sample-${name.toLowerCase()}`);
  }
}

async function otherLooks(browser, server) {
  for (const [name, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 } }],
  ]) {
    const { context, page } = await openWindow(browser, options);
    await signIn(page, server);
    await page.getByRole('navigation', { name: 'Folders' }).waitFor();
    await shot(page, `projects-folders-${name}`);
    await page.evaluate(() => localStorage.setItem('rowmill:firstSteps', JSON.stringify({ isStarted: true, done: ['run'] })));
    const { projects } = await server.api('GET', '/projects');
    await openTable(page, server, projects[0].id);
    await page.getByRole('button', { name: /^First steps/ }).click();
    await page.getByText('Import your list').waitFor();
    await shot(page, `table-first-steps-${name}`);
    assert.deepEqual(await seriousFindings(page), []);
    await context.close();
  }
}
