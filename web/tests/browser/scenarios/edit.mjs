// Adding, editing, undoing, filling down and deleting, mostly by keyboard.
import assert from 'node:assert/strict';
import { gridOf, openTable, paste, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function edit({ server, page, complaints }) {
  const { project } = await server.api('POST', '/projects', { title: 'People', columns: [{ templateId: 'manual', header: 'Name' }] });
  const name = project.columns[1].id;
  const stored = async () => (await server.api('GET', `/projects/${project.id}/rows`)).rows.map((row) => row.cells[name]);
  const holds = (values) => until(`the rows are ${values}`, async () => JSON.stringify(await stored()) === JSON.stringify(values));
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await page.getByText('No rows yet').waitFor();
  await shot(page, 'table-empty');

  await grid.type(0, 1, 'Ada');
  await page.keyboard.type('Alan');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Grace');
  await page.keyboard.press('Enter');
  await holds(['Ada', 'Alan', 'Grace']);

  await grid.type(1, 1, 'Alan Turing');
  await holds(['Ada', 'Alan Turing', 'Grace']);
  await page.keyboard.press('Control+z');
  await holds(['Ada', 'Alan', 'Grace']);
  await page.keyboard.press('Control+Shift+z');
  await holds(['Ada', 'Alan Turing', 'Grace']);

  await grid.select(0, 1);
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Control+d');
  await holds(['Ada', 'Ada', 'Ada']);
  await grid.select(2, 1);
  await page.keyboard.press('Delete');
  await holds(['Ada', 'Ada', null]);

  await page.keyboard.press('Shift+Space');
  await page.getByRole('toolbar', { name: 'Selected rows' }).getByRole('button', { name: 'Delete' }).click();
  await holds(['Ada', 'Ada']);
  await page.getByRole('button', { name: 'Undo', exact: true }).last().click();
  await holds(['Ada', 'Ada', null]);
  await page.keyboard.press('Control+y');
  await holds(['Ada', 'Ada']);

  // Undo does not revert what another user has written since.
  await grid.type(0, 1, 'Mine');
  await holds(['Mine', 'Ada']);
  const { rows: [first] } = await server.api('GET', `/projects/${project.id}/rows`);
  await server.api('PATCH', `/projects/${project.id}/rows/${first.id}`, { Name: 'Theirs' });
  await grid.reads(0, 1, 'Theirs');
  await page.keyboard.press('Control+z');
  await page.getByText('1 cell was not changed').waitFor();
  await holds(['Theirs', 'Ada']);
  await grid.type(0, 1, 'Ada');
  await holds(['Ada', 'Ada']);
  await page.getByText('2 rows', { exact: true }).waitFor();
  assert.equal((await stored()).length, 2);

  await away(page, grid, holds);
  // The browser logs the two expected failures.
  assert.deepEqual(complaints.splice(0).filter((words) => !words.includes('ERR_FAILED')), []);

  // Changes all selected rows, including those out of sight.
  const many = Array.from({ length: 450 }, (_, index) => ({ Name: `n${index}` }));
  await server.api('POST', `/projects/${project.id}/rows`, many);
  await grid.has(456);
  const values = async () => {
    const { rows } = await server.api('GET', `/projects/${project.id}/rows?pageSize=1000`);
    return new Set(rows.map((row) => row.cells[name]));
  };
  const areAll = (value) => until(`all rows are ${value}`, async () => (await values()).size === 1 && (await values()).has(value));
  await grid.select(0, 1);
  await page.keyboard.press('Control+Shift+ArrowDown');
  await page.keyboard.press('Control+d');
  await areAll('Ada');
  await page.keyboard.press('Delete');
  await areAll(null);
  await page.getByText('456 cells cleared. Press Ctrl + Z to undo.').waitFor();
  await page.keyboard.press('Control+z');
  await areAll('Ada');

  // Text typed right after a double click goes into the cell, also on first use.
  await page.reload();
  await grid.reads(0, 1, 'Ada');
  await grid.doubleClick(0, 1);
  await page.keyboard.type(' Lovelace');
  await page.keyboard.press('Enter');
  await grid.reads(0, 1, 'Ada Lovelace');
}

/** Rows typed or pasted while the service is unreachable can be retried and are saved only once. */
async function away(page, grid, holds) {
  const again = page.getByRole('button', { name: 'Try again' });
  await page.route('**/rows', (route) => route.abort(), { times: 1 });
  await grid.type(2, 1, 'typed');
  await again.waitFor();
  await holds(['Ada', 'Ada']);
  await again.click();
  await holds(['Ada', 'Ada', 'typed']);
  await grid.reads(2, 1, 'typed');

  // The service has saved it, but the response was lost.
  await page.route('**/rows', (route) => route.fetch().then(() => route.abort()), { times: 1 });
  await grid.select(3, 1);
  await paste(page, 'pasted');
  await again.waitFor();
  await holds(['Ada', 'Ada', 'typed', 'pasted']);
  await shot(page, 'table-try-again');
  await again.click();
  await again.waitFor({ state: 'detached' });
  await grid.reads(3, 1, 'pasted');
  await page.getByText('4 rows', { exact: true }).waitFor();
  await holds(['Ada', 'Ada', 'typed', 'pasted']);

  // Typing goes on although the row before failed; both can be retried.
  await page.route('**/rows', (route) => route.abort(), { times: 2 });
  await grid.type(4, 1, 'first');
  await again.waitFor();
  await page.keyboard.type('second');
  await page.keyboard.press('Enter');
  await again.nth(1).waitFor();
  await again.first().click();
  await again.nth(1).waitFor({ state: 'detached' });
  await again.click();
  await page.getByText('6 rows', { exact: true }).waitFor();
}
