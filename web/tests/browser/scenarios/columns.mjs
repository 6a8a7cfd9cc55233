// Columns are resized, moved and hidden, and a waterfall's providers reordered.
import assert from 'node:assert/strict';
import { gridOf, openTable, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function columns({ server, page }) {
  const headers = ['Name', 'Town', 'Size'];
  const { project } = await server.api('POST', '/projects', {
    title: 'Columns',
    columns: headers.map((header) => ({ templateId: 'manual', header })),
  });
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'n', Town: 't', Size: 's' }]);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(0, 3, 's');
  const canvas = await page.getByTestId('data-grid-canvas').boundingBox();
  const drag = async (from, to) => {
    const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.mouse.move(canvas.x + from - 20, canvas.y + 18);
    await page.mouse.move(canvas.x + from, canvas.y + 18);
    await drawn();
    await page.mouse.down();
    for (const part of [0.25, 0.5, 0.75, 1]) {
      await page.mouse.move(canvas.x + from + (to - from) * part, canvas.y + 18);
      await drawn();
    }
    await page.mouse.up();
    await drawn();
  };
  const inOrder = async () => {
    const { project: now } = await server.api('GET', `/projects/${project.id}`);
    return now.columns.map(({ header }) => header).join();
  };

  // Drags Size before Town; the service and the next window have the new order.
  await drag(33 + 3 * 190 + 90, 33 + 2 * 190 + 40);
  await until('Size comes before Town', async () => (await inOrder()).endsWith('Name,Size,Town'));
  await grid.reads(0, 2, 's');

  // Name becomes wider and stays so.
  await drag(33 + 2 * 190 - 1, 33 + 2 * 190 + 99);
  const widthOf = () => page.evaluate((id) => JSON.parse(localStorage.getItem(Object.keys(localStorage).find((key) => key.includes(`widths:${id}`))) ?? '{}'), project.id);
  const nameId = project.columns.find(({ header }) => header === 'Name').id;
  await until('Name is wider', async () => (await widthOf())[nameId] > 250);
  await page.reload();
  await grid.reads(0, 2, 's');
  assert.ok((await widthOf())[nameId] > 250);

  // Hides Town by its menu and shows it again.
  await grid.rightClick(-1, 3.6);
  await page.getByRole('menuitem', { name: 'Hide' }).click();
  await page.getByRole('button', { name: '1 hidden' }).waitFor();
  await until('Town is not shown', async () => (await page.locator('[role=columnheader]', { hasText: 'Town' }).count()) === 0);

  // Drags the second provider before the first; the third stays last.
  await page.getByRole('button', { name: 'Add column' }).click();
  const panel = page.getByRole('complementary');
  await panel.getByRole('button', { name: /^Email waterfall/ }).first().click();
  const handles = panel.getByRole('button', { name: /^Move / });
  await handles.first().waitFor();
  const labels = () => handles.evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label')));
  const [first, second, ...others] = await labels();
  await handles.nth(1).scrollIntoViewIfNeeded();
  const from = await handles.nth(1).boundingBox();
  const to = await handles.nth(0).boundingBox();
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  for (const part of [0.2, 0.6, 1]) await page.mouse.move(from.x + from.width / 2, from.y + (to.y - from.y) * part + from.height / 2 - 2);
  await page.mouse.up();
  await until('the second comes first', async () => (await labels()).join() === [second, first, ...others].join());
}
