// Types of columns: chosen in the header's menu and in the form, shown and edited as what they are, values that do not fit
// marked and found, and types guessed on import.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const STAGES = [
  { value: 'New', color: 'blue' },
  { value: 'Won', color: 'green' },
  { value: 'Lost', color: 'red' },
];
const COLUMNS = [
  ['Company', undefined],
  ['Revenue', { type: 'currency' }],
  ['Growth', { type: 'percent' }],
  ['Founded', { type: 'date' }],
  ['Active', { type: 'checkbox' }],
  ['Stage', { type: 'select', options: STAGES }],
  ['Tags', { type: 'multiSelect', options: [{ value: 'A', color: 'teal' }, { value: 'B', color: 'pink' }] }],
  ['Score', { type: 'rating' }],
  ['Site', { type: 'url' }],
];
const ROWS = [
  ['Acme', '$1,200', '12 %', '31.12.2023', 'yes', 'won', ['A', 'B'], 4, 'acme.example'],
  ['Globex', 85, 7.5, '2024-02-29', false, 'New', 'B', 2, 'https://globex.example/a'],
  ['Initech', 'on request', 'much', 'soon', 'perhaps', 'Parked', ['C'], 9, 'none'],
  ['Umbrella', null, null, null, null, null, null, null, null],
];

export default async function types({ browser, server, page }) {
  const project = await furnish(server);
  const grid = gridOf(page);
  const place = (header) => COLUMNS.findIndex(([name]) => name === header) + 1;
  const idOf = (header) => project.columns.find((column) => column.header === header).id;
  const stored = async (row, header) => (await server.api('GET', `/projects/${project.id}/rows?withState=true`)).rows[row].cells[idOf(header)].value;
  // All columns are in sight.
  await page.setViewportSize({ width: 2200, height: 820 });
  await signIn(page, server);
  await openTable(page, server, project.id);

  await grid.reads(0, place('Revenue'), '$1,200.00');
  await grid.reads(0, place('Growth'), '12 %');
  await grid.reads(0, place('Founded'), 'Dec 31, 2023');
  await grid.reads(0, place('Active'), 'Yes');
  await grid.reads(0, place('Stage'), 'Won');
  await grid.reads(2, place('Revenue'), 'on request');
  await shot(page, 'types');
  assert.deepEqual(await seriousFindings(page), []);

  // A select is chosen from its options.
  await grid.select(3, place('Stage'));
  await page.keyboard.press('Enter');
  await page.getByRole('option', { name: 'Lost' }).waitFor();
  await shot(page, 'types-select');
  await page.getByRole('option', { name: 'Lost' }).click();
  await until('the option is stored', async () => (await stored(3, 'Stage')) === 'Lost');
  // Typing finds an option.
  await grid.select(3, place('Stage'));
  await page.keyboard.type('wo');
  await page.keyboard.press('Enter');
  await until('the other option is stored', async () => (await stored(3, 'Stage')) === 'Won');

  // Several options.
  await grid.select(3, place('Tags'));
  await page.keyboard.press('Enter');
  await page.getByRole('option', { name: 'A' }).click();
  await page.getByRole('option', { name: 'B' }).click();
  await page.keyboard.press('Control+Enter');
  await until('both are stored', async () => JSON.stringify(await stored(3, 'Tags')) === '["A","B"]');

  // Stars by key.
  await grid.select(3, place('Score'));
  await page.keyboard.press('Enter');
  await page.getByRole('slider', { name: 'Edit cell' }).waitFor();
  await page.keyboard.press('3');
  await shot(page, 'types-rating');
  await page.keyboard.press('Enter');
  await until('the rating is stored', async () => (await stored(3, 'Score')) === 3);

  // A date from the picker.
  await grid.select(3, place('Founded'));
  await page.keyboard.press('Enter');
  await page.locator('input[type=date]').fill('2024-05-10');
  await page.keyboard.press('Enter');
  await until('the date is stored', async () => (await stored(3, 'Founded')) === '2024-05-10');

  await findMisfits(page, grid, server, project, idOf('Revenue'), place('Revenue'));
  await chooseInMenu(page, grid, server, project, idOf('Company'));
  await formOfOptions(page, grid, place('Stage'));
  await looks(browser, server, project);
  await page.setViewportSize({ width: 1360, height: 820 });
  await guessedOnImport(server, page);
}

/** Values that do not fit are found by the header's menu. */
async function findMisfits(page, grid, server, project, columnId, column) {
  await grid.rightClick(-1, column);
  await page.getByRole('menuitem', { name: 'Show values that do not fit' }).click();
  await page.getByText('1 row', { exact: false }).first().waitFor();
  await grid.reads(0, column, 'on request');
  await shot(page, 'types-misfits');
  await page.getByRole('button', { name: /^Filter/ }).click();
  await page.getByRole('button', { name: 'Remove this condition' }).click();
  await page.keyboard.press('Escape');
  await grid.reads(0, column, '$1,200.00');
  const sorting = encodeURIComponent(JSON.stringify([{ columnId, direction: 'desc' }]));
  const { rows } = await server.api('GET', `/projects/${project.id}/rows?sorting=${sorting}`);
  assert.deepEqual(rows.map(({ cells }) => cells[columnId]), ['$1,200', 85, 'on request', null]);
}

/** The type is chosen in the header's menu. */
async function chooseInMenu(page, grid, server, project, columnId) {
  const format = async () => (await server.api('GET', `/projects/${project.id}/columns/${columnId}`)).column.format;
  await grid.rightClick(-1, 1);
  await page.getByRole('menuitem', { name: /^Type:/ }).hover();
  await page.getByRole('menuitem', { name: 'Long text' }).waitFor();
  await shot(page, 'types-menu');
  await page.getByRole('menuitem', { name: 'Long text' }).click();
  await until('the type is stored', async () => (await format())?.type === 'longText');
}

/** The form shows the options of a select with their colours. */
async function formOfOptions(page, grid, column) {
  await grid.rightClick(-1, column);
  await page.getByRole('menuitem', { name: 'About this column' }).click();
  await page.getByRole('textbox', { name: 'Option 2' }).waitFor();
  await page.getByText('1 value in the first 4 rows does not fit').waitFor();
  await shot(page, 'types-form');
  assert.deepEqual(await seriousFindings(page), []);
  await page.getByRole('button', { name: 'Add an option' }).click();
  await page.getByRole('textbox', { name: 'Option 4' }).fill('Parked');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('1 value in the first 4 rows does not fit').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Close' }).first().click();
  await grid.reads(2, column, 'Parked');
}

async function looks(browser, server, project) {
  for (const [look, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }],
  ]) {
    const other = await openWindow(browser, options);
    await signIn(other.page, server);
    await openTable(other.page, server, project.id);
    await gridOf(other.page).reads(0, 1, 'Acme');
    await shot(other.page, `types-${look}`);
    assert.deepEqual(other.complaints, []);
    await other.context.close();
  }
}

/** The types of a file's columns are guessed, shown in the preview, and can be changed. */
async function guessedOnImport(server, page) {
  const { project } = await server.api('POST', '/projects', { title: 'Guessed', columns: [{ templateId: 'manual', header: 'Name' }] });
  const lines = Array.from({ length: 20 }, (_, n) => `Person ${n},"$${n + 1},000",${n % 2 ? 'yes' : 'no'},${n === 3 ? 'soon' : `${(n % 28) + 1}.05.2024`}`);
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(`Name,Salary,Remote,Start\n${lines.join('\n')}\n`) };
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Choose a file' }).click();
  await (await choosing).setFiles(file);
  await until('the types are guessed', async () => (await page.getByRole('combobox', { name: 'Type of Salary' }).or(page.getByRole('textbox', { name: 'Type of Salary' })).first().inputValue()) === 'Currency (guessed)');
  await shot(page, 'types-import');
  await page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('20 rows imported').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  const { project: after } = await server.api('GET', `/projects/${project.id}`);
  assert.deepEqual(
    after.columns.map(({ format }) => format?.type),
    [undefined, undefined, 'currency', 'checkbox', 'date'],
  );
  await gridOf(page).reads(0, 2, '$1,000.00');
}

async function furnish(server) {
  const columns = COLUMNS.map(([header, format]) => ({ templateId: 'manual', header, ...(format && { format }) }));
  const { project } = await server.api('POST', '/projects', { title: 'Types', columns });
  const rows = ROWS.map((values) => Object.fromEntries(values.map((value, place) => [COLUMNS[place][0], value])));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  return project;
}
