// Figures and places in a table: find with next and previous, summaries below columns, groups that filter.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const ROWS = 3_000;
const STAGES = ['New', 'Won', 'Lost'];

export default async function figures({ browser, server, page }) {
  const project = await furnish(server);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(0, 1, 'Company 0');
  await findText(page, grid);
  await summarize(page, server, project, grid);
  await group(page);
  assert.deepEqual(await seriousFindings(page), []);
  await otherLooks(browser, server, project);
}

async function furnish(server) {
  const columns = [
    { templateId: 'manual', header: 'Company' },
    { templateId: 'manual', header: 'Stage', format: { type: 'select', options: STAGES.map((value) => ({ value })) } },
    { templateId: 'manual', header: 'Amount', format: { type: 'currency', currency: 'USD' } },
    ...['City', 'Owner', 'Notes', 'Last'].map((header) => ({ templateId: 'manual', header })),
  ];
  const { project } = await server.api('POST', '/projects', { title: 'Pipeline', columns });
  const rows = Array.from({ length: ROWS }, (_, number) => ({
    Company: `Company ${number}`,
    Stage: STAGES[number % 3],
    Amount: number % 3 === 1 ? 10 : 1,
    ...(number % 100 === 99 && { Notes: 'needle here' }),
  }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  return project;
}

/** Ctrl + F finds what is not loaded, goes on and back, and says where it is. */
async function findText(page, grid) {
  await grid.select(0, 1);
  await page.keyboard.press('Control+f');
  const field = page.getByRole('textbox', { name: 'Find in cells' });
  await field.waitFor();
  await field.fill('NEEDLE');
  const bar = page.getByRole('search', { name: 'Find in cells' });
  await bar.getByText('1 of 30').waitFor();
  await grid.reads(99, 6, 'needle here');
  await page.keyboard.press('Enter');
  await bar.getByText('2 of 30').waitFor();
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.press('Shift+Enter');
  await bar.getByText('30 of 30').waitFor();
  await grid.reads(2999, 6, 'needle here');
  await shot(page, 'table-find');
  await field.fill('no such text');
  await bar.getByText('No matches').waitFor();
  await page.keyboard.press('Escape');
  await bar.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+Home');
}

/** A summary is chosen in the header's menu, and follows filters, scrolling and edits. */
async function summarize(page, server, project, grid) {
  await grid.reads(0, 1, 'Company 0');
  await grid.rightClick(-1, 3);
  await page.getByRole('menuitem', { name: 'Summary' }).click();
  await page.getByRole('menuitem', { name: 'Sum', exact: true }).click();
  const figure = (name) => page.getByRole('button', { name });
  await figure('Sum $12,000.00 of Amount').waitFor();
  await figure('Summarize Stage').click();
  await page.getByRole('menuitem', { name: 'Unique' }).click();
  await figure('Unique 3 of Stage').waitFor();
  const choose = async (now, kind) => {
    await figure(now).click();
    await page.getByRole('menuitem', { name: kind, exact: true }).click();
  };
  await choose('Summarize Notes', 'Empty');
  await figure('Empty 2,970 of Notes').waitFor();
  await choose('Summarize Company', 'Count');
  await figure('Count 3,000 of Company').waitFor();
  await choose('Sum $12,000.00 of Amount', 'Average');
  await figure('Average $4.00 of Amount').waitFor();
  await shot(page, 'table-summary');
  await choose('Average $4.00 of Amount', 'Sum');
  const [canvas, below] = [await page.getByTestId('data-grid-canvas').boundingBox(), await figure(/^Sum .* of Amount/).boundingBox()];
  assert.ok(below.y >= canvas.y + canvas.height - 1, 'the bar stands below the rows');

  const { rows } = await server.api('GET', `/projects/${project.id}/rows?pageSize=1`);
  const amount = project.columns.find(({ header }) => header === 'Amount').id;
  await server.api('PATCH', `/projects/${project.id}/cells`, { cells: [{ rowId: rows[0].id, columnId: amount, value: 501 }] });
  await figure('Sum $12,500.00 of Amount').waitFor();
  await page.getByRole('textbox', { name: 'Search all cells' }).fill('Company 299');
  await figure('Sum $38.00 of Amount').waitFor();
  await page.getByRole('textbox', { name: 'Search all cells' }).fill('');
  await figure('Sum $12,500.00 of Amount').waitFor();
  await page.reload();
  await figure('Sum $12,500.00 of Amount').waitFor();
}

/** Groups have counts and totals. A click shows the rows of one, another click all. */
async function group(page) {
  await page.getByRole('toolbar', { name: 'Table tools' }).getByRole('button', { name: 'Group', exact: true }).click();
  const panel = page.getByRole('complementary', { name: 'Groups' });
  await panel.getByRole('combobox', { name: 'Group by' }).click();
  await page.getByRole('option', { name: 'Stage' }).click();
  await panel.getByText('3 groups in 3,000 rows').waitFor();
  await panel.getByRole('combobox', { name: 'Total of' }).click();
  await page.getByRole('option', { name: 'Amount' }).click();
  const won = panel.getByRole('button', { name: /^Won/ });
  await until('the total is there', async () => (await won.textContent()) === 'Won1,000$10,000.00');
  await shot(page, 'panel-groups');
  await won.click();
  await page.getByText('1,000 rows match').waitFor();
  await page.getByRole('button', { name: 'Sum $10,000.00 of Amount' }).waitFor();
  await panel.getByText('3 groups in 3,000 rows').waitFor();
  assert.equal(await won.getAttribute('aria-pressed'), 'true');
  await won.click();
  await page.getByText('3,000 rows', { exact: true }).waitFor();
}

async function otherLooks(browser, server, project) {
  for (const [name, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 } }],
  ]) {
    const { context, page } = await openWindow(browser, options);
    await signIn(page, server);
    await openTable(page, server, project.id);
    const grid = gridOf(page);
    await grid.has(100);
    const company = project.columns.find(({ header }) => header === 'Company').id;
    await page.evaluate(([id, column]) => localStorage.setItem(`rowmill:summaries:${id}`, JSON.stringify({ [column]: 'filled' })), [project.id, company]);
    await page.reload();
    await page.getByRole('button', { name: 'Filled 3,000 of Company' }).waitFor();
    await page.keyboard.press('Control+f');
    await page.getByRole('textbox', { name: 'Find in cells' }).fill('needle');
    await page.getByText('1 of 30').waitFor();
    await shot(page, `table-figures-${name}`);
    await page.keyboard.press('Escape');
    await page.getByRole('toolbar', { name: 'Table tools' }).getByRole('button', { name: 'Group', exact: true }).click();
    await page.getByRole('combobox', { name: 'Group by' }).click();
    await page.getByRole('option', { name: 'Stage' }).click();
    await page.getByText('3 groups in 3,000 rows').waitFor();
    await shot(page, `panel-groups-${name}`);
    assert.deepEqual(await seriousFindings(page), []);
    await context.close();
  }
}
