// Quick and quiet: rows that are being loaded show skeletons, one message at a time lies over no row and goes when its
// action is undone, and what takes longer than a moment shows that it works.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

/** What index.html names, gzipped. The code of each page comes after it. */
const FIRST_LOAD_BYTES_MAX = 200_000;

export default async function quick({ server, page }) {
  await loadsLittle(server);
  const provider = await startProvider();
  try {
    const { project } = await server.api('POST', '/projects', {
      title: 'Quick',
      columns: [
        { templateId: 'manual', header: 'Name' },
        { templateId: 'http-api', header: 'Found', apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' }, responsePath: 'company.name' } },
      ],
    });
    const rows = Array.from({ length: 300 }, (_, index) => ({ Name: `n${String(index).padStart(3, '0')}` }));
    await server.api('POST', `/projects/${project.id}/rows`, rows);
    const grid = gridOf(page);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await grid.reads(0, 1, 'n000');
    await showsSkeletons(page, grid);
    await isQuiet(page, grid);
    await showsItWorks(page);
  } finally {
    provider.stop();
  }
}

async function loadsLittle({ url }) {
  const read = async (path) => Buffer.from(await (await fetch(`${url}/${path}`)).arrayBuffer());
  const names = String(await read('')).match(/assets\/[\w.-]+/g);
  const sizes = await Promise.all(names.map(async (name) => gzipSync(await read(name)).length));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total < FIRST_LOAD_BYTES_MAX, `the first load is ${total} bytes`);
}

/** Holds requests whose URL matches, until the returned function is called. */
async function hold(page, pattern) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(pattern, async (route) => {
    await released;
    await route.continue().catch(() => {});
  });
  return async () => {
    release();
    await page.unroute(pattern);
  };
}

async function showsSkeletons(page, grid) {
  const letGo = await hold(page, /\/rows\?.*sorting=/);
  await grid.rightClick(-1, 1.5);
  await page.getByRole('menuitem', { name: 'Sort Z to A' }).click();
  await page.getByText('Loading rows').waitFor();
  await grid.has(60);
  await page.waitForTimeout(300);
  await shot(page, 'skeleton-rows');
  // A click on a row that is being loaded selects nothing, and so nothing jumps when the rows arrive.
  await grid.select(3, 1);
  await letGo();
  await grid.reads(0, 1, 'n299');
  assert.equal(await page.evaluate(() => document.querySelector('.dvn-scroller').scrollTop), 0);
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await grid.reads(0, 1, 'n000');
}

async function isQuiet(page, grid) {
  const toasts = page.locator('.mantine-Notification-root');
  const deleteFirst = async () => {
    await grid.rightClick(0, 1);
    await page.getByRole('menuitem', { name: 'Delete this row' }).click();
    await page.getByText('1 row deleted.').last().waitFor();
  };
  await deleteFirst();
  await grid.reads(0, 1, 'n001');
  await deleteFirst();
  await grid.reads(0, 1, 'n002');
  await until('there is one message', async () => (await toasts.count()) === 1);
  const toast = await toasts.boundingBox();
  const canvas = await page.getByTestId('data-grid-canvas').boundingBox();
  assert.ok(toast.y + toast.height <= canvas.y + 1, `the message reaches down to ${toast.y + toast.height}, rows begin at ${canvas.y}`);
  await shot(page, 'toast');
  // Undone by key, its message goes, too.
  await grid.select(0, 1);
  await page.keyboard.press('Control+z');
  await grid.reads(0, 1, 'n001');
  await until('there is no message', async () => (await toasts.count()) === 0, 3_000);
  await page.keyboard.press('Control+z');
  await grid.reads(0, 1, 'n000');
}

async function showsItWorks(page) {
  const letGo = await hold(page, '**/trigger');
  const run = page.getByRole('button', { name: 'Run', exact: true });
  await run.click();
  await until('the button shows that it works', async () => (await run.getAttribute('data-loading')) !== null, 2_000);
  await shot(page, 'run-starting');
  await letGo();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await until('it is over', async () => (await run.getAttribute('data-loading')) === null);
}
