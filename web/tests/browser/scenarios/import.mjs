// Imports and exports 50,000 rows; imports other encodings and files from our own export.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';

const ROWS = 50_000;

export default async function imported({ server, page }) {
  const { project } = await server.api('POST', '/projects', { title: 'Imported', columns: [{ templateId: 'manual', header: 'Email' }] });
  const lines = Array.from({ length: ROWS }, (_, index) => `person${index}@example.com;City ${index % 50};"Note; ${index}"`);
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(`email;City;Note\r\n${lines.join('\r\n')}\r\n`) };
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);

  await choose(page, file);
  await page.getByText('person0@example.com').waitFor();
  await shot(page, 'import-mapping');
  await page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('50,000 rows imported').waitFor({ timeout: 60_000 });
  await shot(page, 'import-done');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('50,000 rows', { exact: true }).waitFor();
  await grid.reads(0, 1, 'person0@example.com');
  await grid.reads(0, 3, 'Note; 0');

  await grid.has(ROWS);
  await grid.select(0, 1);
  await page.keyboard.press('Control+End');
  await grid.reads(ROWS - 1, 1, `person${ROWS - 1}@example.com`);
  const { project: after } = await server.api('GET', `/projects/${project.id}`);
  assert.deepEqual(after.columns.map((column) => column.header), ['Input', 'Email', 'City', 'Note']);

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).first().click();
  await page.getByRole('menuitem', { name: 'CSV with exact values' }).waitFor();
  await shot(page, 'export-menu');
  await page.getByRole('menuitem', { name: 'CSV for spreadsheets' }).click();
  const stream = await (await download).createReadStream();
  let count = 0;
  for await (const chunk of stream) count += chunk.toString().split('\n').length - 1;
  assert.ok(count >= ROWS, `${count} lines were exported`);
  await foreignLetters(server, page);
  await tooManyCells(server, page);
  await intoNewTable(server, page);
  await ownExport(server, page);
  await inTheBackground(server, page);
}

/** A large file: the page shows the import after its dialog is closed and after a reload, and can cancel it. */
async function inTheBackground(server, page) {
  const { project } = await server.api('POST', '/projects', { title: 'Large', columns: [{ templateId: 'manual', header: 'Email' }] });
  // On the disk: the browser reads it faster from there than from the test.
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-import-'));
  const fileOf = (rows) => {
    const lines = Array.from({ length: rows }, (_, index) => `person${index}@example.com,${'x'.repeat(80)}`);
    const path = join(folder, 'large.csv');
    writeFileSync(path, `Email,Note\n${lines.join('\n')}\n`);
    return path;
  };
  const start = async (rows) => {
    await choose(page, fileOf(rows));
    await page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('The file is on the server').waitFor({ timeout: 60_000 });
  };
  const strip = page.getByRole('region', { name: 'Import progress' });
  await openTable(page, server, project.id);
  await start(400_000);
  await shot(page, 'import-background');
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
  await strip.getByText(/rows? read/).waitFor();
  await page.reload();
  await strip.getByText(/rows\/s/).waitFor({ timeout: 60_000 });
  await shot(page, 'import-strip');
  assert.deepEqual(await seriousFindings(page), []);
  await strip.getByRole('button', { name: 'Cancel' }).click();
  await strip.getByText('Import cancelled').waitFor();
  await strip.getByRole('button', { name: 'Dismiss' }).click();
  await strip.waitFor({ state: 'detached' });

  await start(60_000);
  await page.getByText('60,000 rows imported').waitFor({ timeout: 60_000 });
  await page.getByRole('button', { name: 'Done' }).click();
  const { jobs } = await server.api('GET', `/projects/${project.id}/imports`);
  assert.deepEqual(jobs.map((job) => job.status), ['finished', 'cancelled']);
  rmSync(folder, { recursive: true });
}

async function choose(page, file) {
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Choose a file' }).click();
  await (await choosing).setFiles(file);
}

/** Excel's default encoding, with escaped formulas: the preview and the import both read them correctly. */
async function foreignLetters(server, page) {
  const { project } = await server.api('POST', '/projects', { title: 'Letters', columns: [{ templateId: 'manual', header: 'Name' }] });
  const grid = gridOf(page);
  await openTable(page, server, project.id);
  const text = "Name;Phone\r\nMüller;'+39-02-12\r\nJosé;+39 02 12\r\n";
  const files = [
    { name: 'latin.csv', mimeType: 'text/csv', buffer: Buffer.from(text, 'latin1') },
    { name: 'utf16.csv', mimeType: 'text/csv', buffer: Buffer.from(`\uFEFF${text}`, 'utf16le') },
  ];
  for (const [place, file] of files.entries()) {
    await choose(page, file);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Müller').waitFor();
    await dialog.getByText('+39-02-12', { exact: true }).waitFor();
    await dialog.getByRole('switch', { name: 'Remove apostrophes before formulas' }).waitFor();
    await shot(page, `import-${file.name.split('.')[0]}`);
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('2 rows imported').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await grid.reads(place * 2, 1, 'Müller');
    await grid.reads(place * 2, 2, '+39-02-12');
    await grid.reads(place * 2 + 1, 1, 'José');
  }
}

/** Rows with more cells than the first line: the dialog announces that they are rejected, and they are. */
async function tooManyCells(server, page) {
  const { project } = await server.api('POST', '/projects', { title: 'Wide', columns: [{ templateId: 'manual', header: 'Name' }] });
  await openTable(page, server, project.id);
  const text = 'Name,City\nAda,London,,\nAlan,Manchester, UK\nGrace,New York\n';
  await choose(page, { name: 'wide.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 of 3 rows will not be imported').waitFor();
  assert.equal(await dialog.getByRole('combobox', { name: /^Target/ }).count(), 2, 'no column is offered beyond the first line');
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'import-wide');
  await dialog.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('2 rows imported').waitFor();
  await page.getByText('1 row could not be imported').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await gridOf(page).reads(1, 1, 'Grace');
}

/** In a new table, the import fills and renames the first column instead of leaving it empty. */
async function intoNewTable(server, page) {
  const { project } = await server.api('POST', '/projects', { title: 'Untouched' });
  await openTable(page, server, project.id);
  await choose(page, { name: 'new.csv', mimeType: 'text/csv', buffer: Buffer.from('Company,City\nAcme,London\n') });
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.getByRole('combobox', { name: 'Target for Company' }).inputValue(), 'The first column');
  await dialog.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('1 row imported').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await gridOf(page).reads(0, 0, 'Acme');
  const { columns } = await server.api('GET', `/projects/${project.id}/columns`);
  assert.deepEqual(columns.map(({ header }) => header), ['Company', 'City']);
}

/** A reference column is exported but not imported, and the dialog says so. */
async function ownExport(server, page) {
  const { project } = await server.api('POST', '/projects', { title: 'Exported', columns: [{ templateId: 'manual', header: 'Name' }] });
  await server.api('POST', `/projects/${project.id}/columns`, {
    templateId: 'reference',
    header: 'Part',
    referenceConfig: { columnId: project.columns[1].id, path: '$' },
  });
  await openTable(page, server, project.id);
  await choose(page, { name: 'own.csv', mimeType: 'text/csv', buffer: Buffer.from('Name,Part\nAda,Ada\n') });
  const dialog = page.getByRole('dialog');
  const place = dialog.getByRole('combobox', { name: 'Target for Part' });
  await place.waitFor();
  assert.equal(await place.inputValue(), 'Not imported: computed column');
  await shot(page, 'import-own');
  await dialog.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('1 row imported').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  const { columns } = await server.api('GET', `/projects/${project.id}/columns`);
  assert.deepEqual(columns.map(({ header }) => header), ['Input', 'Name', 'Part']);
}
