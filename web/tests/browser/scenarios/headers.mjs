// Headers work: run button, progress, counts that filter, sort arrow. There is one button to add a column and one to stop.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

const ROWS = 60;

export default async function headers({ browser, server, page }) {
  const provider = await startProvider(120);
  try {
    const project = await furnish(server, provider);
    const grid = gridOf(page);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await grid.reads(0, 1, 'fail 0');
    const at = await pointer(page);

    // The run button takes the place of the icon on hover.
    await page.mouse.move(...at(2, 60));
    await page.waitForTimeout(250);
    await shot(page, 'header-hover');
    await page.mouse.click(...at(2, 16));
    await page.getByRole('banner').getByRole('button', { name: 'Stop' }).waitFor();
    await page.waitForTimeout(900);
    await shot(page, 'header-running');
    assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 1, 'there is one Stop');
    const add = page.getByRole('button', { name: 'Add column' });
    assert.equal(await add.count(), 1, 'there is one Add column');
    const [x] = at(3, 0);
    assert.ok(Math.abs((await add.boundingBox()).x - x) < 4, 'it stands beside the last column');
    await until('it has run', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
    await page.getByText('Run finished').waitFor();

    // The failed count filters, and filters no more.
    await page.waitForTimeout(700);
    await shot(page, 'header-counts');
    await page.mouse.click(...at(2, 190 - 30 - 8));
    await page.getByText('6 rows match').waitFor();
    await grid.reads(5, 1, 'fail 50');
    await shot(page, 'header-failed');
    await page.mouse.click(...at(2, 190 - 30 - 8));
    await page.getByText(`${ROWS} rows`, { exact: true }).waitFor();

    // The menu does the same by keyboard, and its order does not depend on what has happened.
    await grid.reads(0, 1, 'fail 0');
    await grid.rightClick(-1, 2.5);
    await page.getByRole('menuitem', { name: 'Show failed cells (6)' }).click();
    await page.getByText('6 rows match').waitFor();
    await grid.rightClick(-1, 2.5);
    const items = await page.getByRole('menuitem').allTextContents();
    assert.deepEqual(items, [
      'Configure', 'Rename', 'Type: Automatic', 'Run this column', 'Run failed cells (6)', 'Run outdated cells', 'Rerun all cells', 'Sort A to Z', 'Sort Z to A',
      'Filter by this column', 'Show failed cells (6)', 'Show outdated cells', 'Group by this column', 'Summary', 'Freeze up to here', 'Hide', 'Duplicate', 'Delete',
    ]);
    assert.deepEqual(await seriousFindings(page), []);
    await shot(page, 'header-menu');
    await page.getByRole('menuitem', { name: 'Show failed cells (6)' }).click();
    await page.getByText(`${ROWS} rows`, { exact: true }).waitFor();

    await sorts(page, grid, at);
    await tells(page, at);
    await looks(browser, server, project);
  } finally {
    provider.stop();
  }
}

/** The arrow of a sorted column turns, and then goes. */
async function sorts(page, grid, at) {
  await grid.rightClick(-1, 1.5);
  await page.getByRole('menuitem', { name: 'Sort A to Z' }).click();
  await grid.reads(0, 1, 'fail 0');
  await page.getByRole('button', { name: 'Sort · 1' }).waitFor();
  await grid.reads(6, 1, 'n1');
  await page.mouse.click(...at(1, 190 - 30 - 9));
  await grid.reads(0, 1, 'n59');
  await shot(page, 'header-sorted');
  await page.mouse.click(...at(1, 190 - 30 - 9));
  await page.getByRole('button', { name: 'Sort', exact: true }).waitFor();
  await grid.reads(1, 1, 'n1');
}

/** A tooltip says how the cells of a column stand. */
async function tells(page, at) {
  await page.mouse.move(...at(2, 80));
  await page.getByRole('tooltip').getByText(`${ROWS - 6} done, 6 failed`).waitFor();
  await shot(page, 'header-note');
  await page.mouse.move(...at(2, 80, 300));
}

async function looks(browser, server, project) {
  for (const [look, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }],
  ]) {
    const { page, context, complaints } = await openWindow(browser, options);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await gridOf(page).reads(0, 1, 'fail 0');
    assert.ok(await page.getByRole('button', { name: 'Add column' }).isVisible(), 'columns can be added without scrolling');
    await page.waitForTimeout(700);
    await shot(page, `header-${look}`);
    assert.deepEqual(complaints, []);
    await context.close();
  }
}

/** A point in a column, counted from its left edge, in the header or `down` pixels below it. */
async function pointer(page) {
  const box = await page.getByTestId('data-grid-canvas').boundingBox();
  return (column, x, down = 0) => [box.x + 33 + column * 190 + x, box.y + 18 + down];
}

async function furnish(server, provider) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Headers',
    columns: [
      { templateId: 'manual', header: 'Name' },
      {
        templateId: 'http-api',
        header: 'Found',
        apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' }, responsePath: 'company.name' },
        retry: { maxAttempts: 1 },
        rateLimit: { requests: 20, perSeconds: 1 },
      },
    ],
  });
  const rows = Array.from({ length: ROWS }, (_, index) => ({ Name: index % 10 === 0 ? `fail ${index}` : `n${index}` }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  return project;
}
