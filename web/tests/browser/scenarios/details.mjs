// The details of a cell follow the selection, move by key, can be edited, and return to the same cell. A column is tried
// on five rows, beside its form.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

export default async function details({ browser, server, page }) {
  const provider = await startProvider();
  try {
    const project = await furnish(server, provider);
    const grid = gridOf(page);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await grid.reads(0, 1, 'Acme');
    const panel = page.getByRole('complementary');
    const titled = (row) => page.getByRole('complementary', { name: `Row ${row}`, exact: true }).waitFor();

    await follows(page, grid, panel, titled);
    await returns(page, grid, panel, titled);
    await edits(page, server, project, grid, panel);
    await triesFive(page, panel, provider);
    await looks(browser, server, project);
  } finally {
    provider.stop();
  }
}

async function follows(page, grid, panel, titled) {
  await grid.select(0, 2);
  await page.keyboard.press('Space');
  await titled(1);
  await panel.getByText('Done', { exact: true }).first().waitFor();
  await panel.getByText(/1 attempt/).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'details');
  // By key, from the panel itself.
  await page.keyboard.press('ArrowDown');
  await titled(2);
  await panel.getByText(/no credit left/).first().waitFor();
  await page.keyboard.press('ArrowLeft');
  await until('the panel shows the name', async () => (await panel.getByRole('combobox', { name: 'Column' }).inputValue()) === 'Name');
  await page.keyboard.press('ArrowUp');
  await titled(1);
  await panel.getByRole('button', { name: 'Next row' }).click();
  await titled(2);
  // By the selection in the grid, which keeps the focus.
  await grid.select(3, 2);
  await titled(4);
  await page.keyboard.press('ArrowDown');
  await titled(5);
  assert.ok(await page.evaluate(() => document.activeElement.closest('aside') === null), 'the grid lost the focus');
  await shot(page, 'details-followed');
  await panel.getByRole('button', { name: 'Close the panel' }).click();
  await panel.waitFor({ state: 'detached' });
}

/** Escape returns to the cell, again and again: typing goes on there. */
async function returns(page, grid, panel, titled) {
  await grid.select(1, 1);
  for (let round = 0; round < 4; round++) {
    await page.keyboard.press('Space');
    await titled(2 + round);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowDown');
  }
  // After moving in the panel, the place is the cell that was shown last.
  await page.keyboard.press('Space');
  await titled(6);
  await page.keyboard.press('ArrowDown');
  await titled(7);
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await page.keyboard.type('Seventh');
  await page.keyboard.press('Enter');
  await grid.reads(6, 1, 'Seventh');
}

async function edits(page, server, project, grid, panel) {
  await grid.select(4, 1);
  await page.keyboard.press('Space');
  await panel.getByRole('button', { name: 'Edit', exact: true }).click();
  const field = panel.getByRole('textbox', { name: 'Edit value' });
  await field.fill('Not kept');
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  await grid.reads(4, 1, 'n4');
  await panel.getByRole('button', { name: 'Edit', exact: true }).click();
  await field.fill('Kept');
  await page.keyboard.press('Control+Enter');
  await grid.reads(4, 1, 'Kept');
  await until('it is stored', async () => {
    const { rows } = await server.api('GET', `/projects/${project.id}/rows?pageSize=5&withState=true`);
    return rows[4].cells[project.columns[1].id].value === 'Kept';
  });
  // JSON stays JSON, or is not saved.
  await panel.getByRole('combobox', { name: 'Column' }).click();
  await page.getByRole('option', { name: 'Found' }).click();
  await panel.getByRole('button', { name: 'Edit', exact: true }).click();
  await field.fill('{ "name": ');
  await page.keyboard.press('Control+Enter');
  await panel.getByText('This is not valid JSON.').waitFor();
  await field.fill('{ "name": "Typed", "employees": 3 }');
  await panel.getByRole('button', { name: 'Save', exact: true }).click();
  await grid.reads(4, 2, 'Typed · employees 3');
  await panel.getByText('Edited manually').first().waitFor();
  // A field becomes a column in one click.
  await panel.getByRole('button', { name: 'employees', exact: true }).click();
  await page.getByText('The column “Employees” was created.').waitFor();
  await shot(page, 'details-edited');
  await panel.getByRole('button', { name: 'Close the panel' }).click();
}

async function triesFive(page, panel, provider) {
  await page.getByRole('button', { name: 'Add column' }).click();
  await panel.getByRole('button', { name: /^HTTP/ }).click();
  await page.getByRole('textbox', { name: 'URL' }).click();
  await page.keyboard.type(`${provider.url}/find?q=@Na`);
  await page.getByRole('option', { name: 'Name' }).click();
  const box = page.getByRole('region', { name: 'Try it' });
  await box.getByLabel('Row').fill('1');
  await box.getByRole('button', { name: 'Try on 5 rows' }).click();
  const results = box.getByRole('region', { name: 'Results' });
  await results.getByText('Acme Ltd').waitFor();
  await results.getByText('Failed', { exact: true }).waitFor();
  assert.equal(await results.getByRole('row').count(), 6);
  await until('none is running', async () => (await results.getByText('Running').count()) === 0);
  // The form and the try area stand side by side.
  const form = await page.getByRole('textbox', { name: 'Header' }).boundingBox();
  const tried = await box.boundingBox();
  assert.ok(tried.x > form.x + form.width, 'the try area lies below the form');
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'details-try-five');
  await box.getByRole('button', { name: 'Close the result' }).click();
  await results.waitFor({ state: 'detached' });
  await panel.getByRole('button', { name: 'Close the panel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
}

async function looks(browser, server, project) {
  for (const [look, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 } }],
  ]) {
    const { page, context, complaints } = await openWindow(browser, options);
    await signIn(page, server);
    await openTable(page, server, project.id);
    const grid = gridOf(page);
    await grid.reads(0, 1, 'Acme');
    await until('the panel is open', async () => {
      await grid.select(0, 1);
      await page.keyboard.press('Space');
      return page.getByRole('combobox', { name: 'Column' }).isVisible();
    });
    await page.getByRole('combobox', { name: 'Column' }).click();
    await page.getByRole('option', { name: 'Found' }).click();
    await page.getByText('History').waitFor();
    await page.waitForTimeout(300);
    await shot(page, `details-${look}`);
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(complaints, []);
    await context.close();
  }
}

async function furnish(server, provider) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Details',
    columns: [
      { templateId: 'manual', header: 'Name' },
      {
        templateId: 'http-api',
        header: 'Found',
        apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' } },
        retry: { maxAttempts: 1 },
      },
    ],
  });
  const rows = Array.from({ length: 12 }, (_, index) => ({ Name: ['Acme', 'fail'][index] ?? `n${index}` }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  await server.api('POST', `/projects/${project.id}/trigger`, {});
  await until('the cells have run', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
  return project;
}
