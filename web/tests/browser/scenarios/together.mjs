// Two browsers on one table see each other's edits, rows and columns.
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';

export default async function together({ browser, server, page }) {
  const { project } = await server.api('POST', '/projects', { title: 'Shared', columns: [{ templateId: 'manual', header: 'Name' }] });
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'one' }, { Name: 'two' }]);
  const other = await openWindow(browser);
  for (const window of [page, other.page]) {
    await signIn(window, server);
    await openTable(window, server, project.id);
  }
  const [here, there] = [gridOf(page), gridOf(other.page)];
  await there.reads(1, 1, 'two');

  await here.type(0, 1, 'changed here');
  await there.reads(0, 1, 'changed here');
  await there.type(1, 1, 'changed there');
  await here.reads(1, 1, 'changed there');
  await there.type(2, 1, 'added there');
  await here.reads(2, 1, 'added there');

  // Two users edit one cell: the last write wins, and its user sees the other value.
  const both = async (mine, theirs) => {
    await here.select(0, 1);
    await page.keyboard.press('F2');
    await page.getByLabel('Edit cell').fill(mine);
    await there.type(0, 1, theirs);
    await here.reads(0, 1, theirs);
    await page.keyboard.press('Enter');
    await there.reads(0, 1, mine);
    await page.getByText(`Somebody else entered “${theirs}”. Your text replaced it.`).waitFor();
  };
  await both('mine', 'theirs');
  await shot(page, 'together-crossed');
  await page.getByRole('button', { name: 'Use theirs' }).click();
  await there.reads(0, 1, 'theirs');
  await both('mine again', 'theirs again');
  await page.keyboard.press('Control+z');
  await there.reads(0, 1, 'theirs again');

  // A row being typed stays a new row, even if another row takes its position.
  await here.select(3, 1);
  await page.keyboard.type('mine too');
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'came first' }]);
  await here.reads(3, 1, 'came first');
  await page.keyboard.press('Enter');
  await there.reads(4, 1, 'mine too');
  await there.reads(3, 1, 'came first');
  // Typing goes on in the row after it.
  await here.reads(4, 1, 'mine too');
  await page.keyboard.type('next');
  await page.keyboard.press('Enter');
  await there.reads(5, 1, 'next');

  await page.getByRole('button', { name: 'Add column' }).click();
  await page.getByRole('complementary').getByRole('button', { name: /^Manual|^Text/ }).first().click();
  await page.getByLabel('Header').fill('Seen by both');
  await page.getByRole('button', { name: 'Create column' }).click();
  await other.page.locator('[role=columnheader]', { hasText: 'Seen by both' }).waitFor({ state: 'attached' });
  await other.context.close();
}
