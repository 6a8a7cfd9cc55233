// Numbers that JavaScript would round are shown, edited, undone, copied and filtered with all their digits.
import assert from 'node:assert/strict';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const DATA = '{"id":12345678901234567890,"share":0.12345678901234567890123}';
const PRICE = '9007199254740993.25';

export default async function exactNumbers({ server, page }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Exact numbers',
    columns: [
      { templateId: 'manual', header: 'Amount' },
      { templateId: 'manual', header: 'Name' },
      { templateId: 'manual', header: 'Data' },
      { templateId: 'manual', header: 'Price', format: { type: 'currency', currency: 'EUR' } },
    ],
  });
  const [, amount, name, data, price] = project.columns.map(({ id }) => id);
  const rows = `/projects/${project.id}/rows`;
  await sendText(server, 'POST', rows, `[
    {"Amount":9007199254740993,"Name":"Ada"},
    {"Amount":1e400,"Name":"Bob","Data":${DATA}},
    {"Amount":12345,"Name":"Cem","Price":${PRICE}}]`);

  /** Waits until the rows are stored so: as text, because reading them as JSON would round them. */
  const holds = async (columnId, ...texts) => {
    const wanted = texts.join(' ');
    await until(`the cells are ${wanted}`, async () => storedIn(await readText(server, rows), columnId).join(' ') === wanted);
  };
  const grid = gridOf(page);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(0, 1, '9,007,199,254,740,993');
  await grid.reads(1, 1, '1e400');
  await grid.reads(2, 1, '12,345');
  await grid.reads(2, 4, '€9,007,199,254,740,993.25');
  await shot(page, 'table-exact-numbers');

  // Another cell of the row is edited.
  await grid.type(0, 2, 'Ada Lovelace');
  await holds(name, '"Ada Lovelace"', '"Bob"', '"Cem"');
  await holds(amount, '9007199254740993', '1e400', '12345');

  await typed(page, grid, { amount, data, price }, holds);
  await copied(page, grid, amount, holds);
  await deletedAndBack(page, grid, amount, holds);
  await seenLive(server, grid, rows);
  await filtered(page, grid);
}

/** Typed numbers are stored as they are typed, also inside JSON. Undo and redo write what was there. */
async function typed(page, grid, { amount, data, price }, holds) {
  await grid.type(0, 1, '9007199254740995');
  await grid.reads(0, 1, '9,007,199,254,740,995');
  await holds(amount, '9007199254740995', '1e400', '12345');
  await page.keyboard.press('Control+z');
  await grid.reads(0, 1, '9,007,199,254,740,993');
  await holds(amount, '9007199254740993', '1e400', '12345');
  // Opened and left as it is.
  await grid.select(0, 1);
  await page.keyboard.press('F2');
  assert.equal(await page.getByLabel('Edit cell').inputValue(), '9007199254740993');
  await page.keyboard.press('Enter');

  await grid.type(2, 4, '9007199254740997.5');
  await grid.reads(2, 4, '€9,007,199,254,740,997.50');
  await holds(price, '9007199254740997.5');
  await page.keyboard.press('Control+z');
  await holds(price, PRICE);

  await grid.select(1, 3);
  await page.keyboard.press('F2');
  const field = page.getByLabel('Edit cell');
  await field.fill((await field.inputValue()).replace('"id"', '"low":1e-400,"id"'));
  await page.keyboard.press('Control+Enter');
  await holds(data, DATA.replace('"id"', '"low":1e-400,"id"'));
  await page.keyboard.press('Control+z');
  await holds(data, DATA);

  await grid.select(1, 3);
  await page.keyboard.press('Space');
  const panel = page.getByRole('complementary');
  await panel.getByText('12345678901234567890', { exact: true }).waitFor();
  await panel.getByText('0.12345678901234567890123', { exact: true }).waitFor();
  await shot(page, 'panel-exact-numbers');
  await page.keyboard.press('Escape');
}

/** Copied, pasted and filled down. */
async function copied(page, grid, amount, holds) {
  await grid.select(0, 1);
  await page.keyboard.press('Control+c');
  await until('the number is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === '9007199254740993');
  await grid.select(2, 1);
  await page.keyboard.press('Control+v');
  await holds(amount, '9007199254740993', '1e400', '9007199254740993');
  await page.keyboard.press('Control+z');
  await holds(amount, '9007199254740993', '1e400', '12345');
  await grid.select(1, 1);
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Control+d');
  await holds(amount, '9007199254740993', '1e400', '1e400');
  await page.keyboard.press('Control+z');
  await holds(amount, '9007199254740993', '1e400', '12345');
}

async function deletedAndBack(page, grid, amount, holds) {
  await grid.select(0, 1);
  await page.keyboard.press('Shift+Space');
  await page.getByRole('toolbar', { name: 'Selected rows' }).getByRole('button', { name: 'Delete' }).click();
  await holds(amount, '1e400', '12345');
  await page.getByRole('button', { name: 'Undo', exact: true }).last().click();
  await holds(amount, '9007199254740993', '1e400', '12345');
}

/** What others write comes by the event stream. */
async function seenLive(server, grid, rows) {
  const [first] = (await server.api('GET', rows)).rows;
  await sendText(server, 'PATCH', `${rows}/${first.id}`, '{"Amount":9007199254740999}');
  await grid.reads(0, 1, '9,007,199,254,740,999');
}

/** A filter tells numbers apart that are the same to JavaScript, also after a reload. */
async function filtered(page, grid) {
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  const box = page.getByRole('dialog');
  await box.getByRole('combobox', { name: 'Column' }).click();
  await page.getByRole('option', { name: 'Amount' }).click();
  await box.getByRole('combobox', { name: 'Comparison' }).click();
  await page.getByRole('option', { name: 'is at most' }).click();
  const value = box.getByRole('textbox', { name: 'Value' });
  await value.pressSequentially('-12.5');
  assert.equal(await value.inputValue(), '-12.5');
  await page.getByText('No matching rows').waitFor();
  await value.fill('9007199254740998');
  await page.getByText('1 row matches').waitFor();
  await value.fill('9007199254740999');
  await page.getByText('2 rows match').waitFor();
  await page.keyboard.press('Escape');
  assert.match(decodeURIComponent(page.url()), /"value":9007199254740999\b/);
  await page.reload();
  await page.getByText('2 rows match').waitFor();
  await grid.reads(0, 1, '9,007,199,254,740,999');
}

/** The texts of a column's cells in the body of a list of rows. */
function storedIn(body, columnId) {
  const start = `"${columnId}":`;
  return body
    .split(start)
    .slice(1)
    .map((rest) => valueAt(rest))
    .filter((text) => text !== 'null');
}

/** The first JSON value of a text, as it is written. */
function valueAt(text) {
  if (!text.startsWith('{')) return /^("[^"]*"|[^,}]+)/.exec(text)[0];
  return text.slice(0, text.indexOf('}') + 1);
}

const headersOf = (server) => ({ Authorization: `Bearer ${server.key}`, 'Content-Type': 'application/json' });

async function readText(server, path) {
  return (await fetch(`${server.url}/v4${path}`, { headers: headersOf(server) })).text();
}

async function sendText(server, method, path, body) {
  const response = await fetch(`${server.url}/v4${path}`, { method, headers: headersOf(server), body });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}
