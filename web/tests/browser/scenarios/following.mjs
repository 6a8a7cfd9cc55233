// Rows move while somebody works on them: an action stays on the row it was started on.
import assert from 'node:assert/strict';
import { gridOf, openTable, paste, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function following({ server, page }) {
  const headers = ['Name', 'Note', 'C', 'D', 'E', 'F', 'G', 'H'];
  const { project } = await server.api('POST', '/projects', {
    title: 'Moving rows',
    columns: headers.map((header) => ({ templateId: 'manual', header })),
  });
  const path = `/projects/${project.id}/rows`;
  const [nameId, noteId] = headers.map((header) => project.columns.find((column) => column.header === header).id);
  const people = Array.from({ length: 20 }, (_, index) => ({ Name: `Person ${index + 1}` }));
  const { rows: ids } = await server.api('POST', path, people);
  let first = 0;
  /** Another user deletes the first row, and this window shows it. */
  const deleteFirst = async () => {
    await server.api('DELETE', path, { rowIds: [ids[first++]] });
    await grid.reads(0, 1, `Person ${first + 1}`);
  };
  const table = async () => {
    const { rows } = await server.api('GET', `${path}?pageSize=100`);
    return new Map(rows.map(({ cells }) => [cells[nameId], cells[noteId] ?? '']));
  };
  const noteOf = (name, text) => until(`${name} has the note ${text}`, async () => (await table()).get(name) === text);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(19, 1, 'Person 20');

  // A selected cell, and one that is being edited.
  await grid.select(3, 2);
  await deleteFirst();
  await page.keyboard.type('selected');
  await page.keyboard.press('Enter');
  await noteOf('Person 4', 'selected');
  await grid.select(4, 2);
  await page.keyboard.press('F2');
  await page.getByLabel('Edit cell').waitFor();
  await page.keyboard.type('edited');
  await deleteFirst();
  await page.keyboard.press('Enter');
  await noteOf('Person 6', 'edited');

  // An open menu, selected rows, and an open paste dialog.
  await grid.rightClick(4, 1);
  await page.getByRole('menuitem', { name: 'Delete this row' }).waitFor();
  await deleteFirst();
  await page.getByRole('menuitem', { name: 'Delete this row' }).click();
  await until('Person 7 is gone', async () => !(await table()).has('Person 7'));
  await grid.reads(3, 1, 'Person 8');
  const canvas = await page.getByTestId('data-grid-canvas').boundingBox();
  await page.mouse.click(canvas.x + 25, canvas.y + 36 + 4 * 33 + 16);
  await page.getByRole('toolbar', { name: 'Selected rows' }).waitFor();
  await deleteFirst();
  await page.getByRole('toolbar', { name: 'Selected rows' }).getByRole('button', { name: 'Delete' }).click();
  await until('Person 9 is gone', async () => !(await table()).has('Person 9'));
  assert.ok((await table()).has('Person 10'));
  await grid.reads(2, 1, 'Person 8');
  await grid.select(3, 6);
  await paste(page, '1\t2\t3\t4\n5\t6\t7\t8\n');
  await page.getByRole('dialog').getByRole('button', { name: 'Paste only what fits' }).waitFor();
  await deleteFirst();
  await page.getByRole('dialog').getByRole('button', { name: 'Paste only what fits' }).click();
  await until('the paste is where it was meant to be', async () => {
    const { rows } = await server.api('GET', `${path}?pageSize=100`);
    const filled = project.columns.find((column) => column.header === 'F').id;
    return rows.filter(({ cells }) => cells[filled]).map(({ cells }) => cells[nameId]).join() === 'Person 10,Person 11';
  });

  // Filling empty cells one after another, while each row leaves the filtered view.
  const filters = [{ columnId: noteId, operator: 'isEmpty' }];
  const { view } = await server.api('POST', `/projects/${project.id}/views`, { name: 'Gaps', filters });
  await page.goto(`${server.url}/projects/${project.id}?view=${view.id}`);
  await grid.reads(0, 1, 'Person 8');
  await grid.select(0, 2);
  for (const name of ['Person 8', 'Person 10', 'Person 11']) {
    await page.keyboard.type(`gap of ${name}`);
    await page.keyboard.press('Enter');
    await noteOf(name, `gap of ${name}`);
    // Waits until the row has left the view.
    await until(`${name} is not shown`, async () => (await page.locator('[id="glide-cell-2-0"]').textContent()) !== name);
  }
  await grid.reads(0, 1, 'Person 12');

  // A letter opens the editor of a frozen column, scrolled or not.
  await grid.select(0, 2);
  await page.keyboard.press('End');
  await until('the table is scrolled', async () => (await page.locator('[id="glide-cell-3-0"]').count()) === 0);
  await grid.select(0, 1);
  await page.keyboard.type('Alpha');
  await page.keyboard.press('Enter');
  await until('the name is written', async () => (await table()).has('Alpha'));
  await page.keyboard.type('Beta');
  await page.keyboard.press('Enter');
  await until('the next is written', async () => (await table()).has('Beta'));
  assert.ok(!(await table()).has('Person 12') && !(await table()).has('Person 13'));
}
