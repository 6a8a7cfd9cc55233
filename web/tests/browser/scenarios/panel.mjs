// Column panel: the result of a try is visible, unsaved text is not lost without a question, and errors are shown at
// their field.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

export default async function panel({ server, page, complaints }) {
  const provider = await startProvider();
  try {
    const { project } = await server.api('POST', '/projects', { title: 'Tried', columns: [{ templateId: 'manual', header: 'Name' }] });
    await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'Acme' }, { Name: 'fail' }]);
    await signIn(page, server);
    await page.getByRole('link', { name: 'Tried' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    await goesOnBehindChip(page);
    await openHttp(page, `${provider.url}/find?q=`);
    await triesInSight(page);
    await asksFirst(page, server, project);
    await saysWhere(page, server, project);
    await asksWhoseCounts(page, server, project);
    await keepsTyped(page, server, project);
    // The browser logs the expected refusals.
    assert.deepEqual(complaints.splice(0).filter((words) => !/status of 40[04]/.test(words)), []);
  } finally {
    provider.stop();
  }
}

/** A click into the empty part of a prompt that ends in a chip puts the caret after it. */
async function goesOnBehindChip(page) {
  const panel = page.getByRole('complementary');
  await page.getByRole('button', { name: 'Add column' }).click();
  await panel.getByRole('button', { name: /^AI/ }).first().click();
  const prompt = panel.getByRole('textbox', { name: 'Prompt' });
  const pressBelow = async () => {
    const { x, y, width, height } = await prompt.boundingBox();
    await page.mouse.click(x + width - 20, y + height - 8);
  };
  const reads = async () => (await prompt.textContent()).replaceAll('\u200b', '').replaceAll('\u00a0', ' ');
  await prompt.click();
  await page.keyboard.type('Greet @Na');
  await panel.getByRole('option', { name: 'Name' }).click();
  // A chip brings no space with it.
  assert.equal(await reads(), 'Greet Name');
  await pressBelow();
  await page.keyboard.type(', please');
  assert.equal(await reads(), 'Greet Name, please');

  for (let letter = 0; letter < ', please'.length; letter += 1) await page.keyboard.press('Backspace');
  await panel.getByLabel('Header').click();
  await pressBelow();
  await page.keyboard.type('!');
  assert.equal(await reads(), 'Greet Name!');
  await page.keyboard.press('Backspace');
  await page.keyboard.press('Backspace');
  assert.equal(await reads(), 'Greet ');
  await panel.getByRole('button', { name: 'Close the panel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
  await panel.waitFor({ state: 'detached' });
}

async function openHttp(page, address) {
  await page.getByRole('button', { name: 'Add column' }).click();
  await page.getByRole('complementary').getByRole('button', { name: /^HTTP/ }).click();
  const field = page.getByRole('textbox', { name: 'URL' });
  await field.click();
  await page.keyboard.type(`${address}@Na`);
  await page.getByRole('option', { name: 'Name' }).click();
}

async function triesInSight(page) {
  const box = page.getByRole('region', { name: 'Try it' });
  const button = box.getByRole('button', { name: 'Try on this row' });
  await button.click();
  await box.getByText('Done', { exact: true }).waitFor();
  await inSight(page, box.getByRole('button', { name: 'employees' }));
  await focused(page, button);
  await shot(page, 'panel-try');

  await box.getByLabel('Row').fill('2');
  await button.click();
  await inSight(page, box.getByText(/no credit left/));
  await shot(page, 'panel-try-failed');
  await box.getByRole('button', { name: 'Close the result' }).click();
}

/** Checks that an element is visible without scrolling. */
async function inSight(page, locator) {
  await locator.waitFor();
  const { y, height } = await locator.boundingBox();
  assert.ok(y > 0 && y + height < page.viewportSize().height, `it lies at ${y}`);
}

function focused(page, locator) {
  return locator.evaluate((element) => document.activeElement === element || new Promise((done) => element.addEventListener('focus', done, { once: true })));
}

async function asksFirst(page, server, project) {
  const dialog = page.getByRole('dialog', { name: 'Discard changes?' });
  const address = page.getByRole('textbox', { name: 'URL' });
  const keep = async () => {
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.match(await address.textContent(), /find\?q=/);
  };
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await shot(page, 'panel-discard');
  await keep();
  await address.click();
  await page.keyboard.press('Escape');
  await keep();
  await gridOf(page).select(0, 1);
  await page.keyboard.press('Space');
  await keep();
  await page.getByRole('link', { name: 'Rowmill, all projects' }).click();
  await keep();
  await page.evaluate(() => window.history.back());
  await keep();
  assert.match(page.url(), new RegExp(project.id));
  assert.ok(await holdsTheWindow(page), 'the window would close without a question');

  await page.evaluate(() => window.history.back());
  await dialog.getByRole('button', { name: 'Discard changes' }).click();
  await page.waitForURL(`${server.url}/`);

  // Leaving after a save asks no question.
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Add column' }).click();
  await page.getByRole('complementary').getByRole('button', { name: /^Text|^Manual/ }).first().click();
  await page.getByLabel('Header').fill('Note');
  await page.getByRole('button', { name: 'Create column' }).click();
  await page.getByRole('complementary', { name: 'Note', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Close the panel' }).click();
  await page.getByRole('complementary').waitFor({ state: 'hidden' });
  assert.ok(!(await holdsTheWindow(page)), 'the window asks though all is saved');
}

/** Whether the browser would ask before closing the window. */
function holdsTheWindow(page) {
  return page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })));
}

async function saysWhere(page, server, project) {
  const invalid = (name) => page.locator(`[aria-invalid="true"]`).and(page.getByRole('textbox', { name }));
  const panel = page.getByRole('complementary');
  await page.getByRole('button', { name: 'Add column' }).click();
  await panel.getByRole('button', { name: /^HTTP/ }).click();
  await panel.getByRole('button', { name: 'Create column' }).click();
  await panel.getByText('Enter a URL.').waitFor();
  await focused(page, invalid('URL'));
  await shot(page, 'panel-missing');
  await page.keyboard.type('https://example.com');
  await panel.getByText('Enter a URL.').waitFor({ state: 'hidden' });
  await panel.getByLabel('Response path').fill('$[x');
  await panel.getByRole('button', { name: 'Create column' }).click();
  await panel.getByText('This was not saved').waitFor();
  await invalid('Response path').waitFor();
  assert.doesNotMatch(await panel.textContent(), /apiConfig|responsePath/);
  const { project: after } = await server.api('GET', `/projects/${project.id}`);
  assert.deepEqual(after.columns.map(({ header }) => header), ['Input', 'Name', 'Note']);

  await panel.getByRole('button', { name: 'Back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
  await panel.getByRole('button', { name: /^Reference/ }).click();
  await panel.getByRole('button', { name: 'Create column' }).click();
  await panel.getByText('Choose a source column.').waitFor();
  await panel.getByText('Enter a path, or $ for the whole value.').waitFor();

  await panel.getByRole('button', { name: 'Back' }).click();
  await panel.getByRole('button', { name: /^Email waterfall/ }).first().click();
  await panel.getByRole('button', { name: 'Save and run' }).click();
  // “Name” was found; nothing in the table is a website.
  await panel.getByText('Columns were chosen by their headers and values.').waitFor();
  await panel.getByText('Choose a column for the company’s website or domain.').waitFor();
  await panel.getByText('Turn on at least one provider.').waitFor();
  await focused(page, invalid('Company website or domain'));
  await shot(page, 'panel-waterfall-missing');
  await panel.getByRole('switch', { name: /^Use / }).last().press('Space');
  await panel.getByText('Turn on at least one provider.').waitFor({ state: 'hidden' });
  await panel.getByRole('button', { name: 'Back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
  const { columns } = await server.api('GET', `/projects/${project.id}/columns`);
  assert.equal(columns.length, 3, 'nothing was made of it');

  await page.goto(`${server.url}/settings/providers`);
  await page.getByRole('button', { name: 'Add key: OpenAI-compatible' }).click();
  await page.getByLabel('Base URL').fill('nowhere');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await invalid('Base URL').waitFor();
  await page.getByText('Must be an http or https URL with a host.').waitFor();

  // Saved settings are shown for editing, but not the key.
  await server.api('PUT', '/team/providers/openai', { apiKey: 'sk-secret', baseUrl: 'https://llm.example/v1', model: 'small' });
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
  await page.reload();
  await page.getByText('https://llm.example/v1 · small').waitFor();
  await page.getByRole('button', { name: 'Replace: OpenAI-compatible' }).click();
  assert.equal(await page.getByLabel('Base URL').inputValue(), 'https://llm.example/v1');
  assert.equal(await page.getByLabel('Default model').inputValue(), 'small');
  assert.equal(await page.getByRole('dialog').locator('input[type="password"]').inputValue(), '');
  assert.ok(await page.getByRole('dialog').getByRole('button', { name: 'Save' }).isDisabled(), 'the key would be lost unasked');
  await page.getByLabel('Save without a key').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).isEnabled();
  await shot(page, 'provider-dialog');
}

/** Two users edit one column: the second is asked before overwriting, and only for fields that both changed. */
async function asksWhoseCounts(page, server, project) {
  const panel = page.getByRole('complementary');
  const dialog = page.getByRole('dialog', { name: 'Somebody else changed this column' });
  const address = panel.getByRole('textbox', { name: 'URL' });
  const save = panel.getByRole('button', { name: 'Save', exact: true });
  const stored = async () => (await server.api('GET', `/projects/${project.id}`)).project.columns.at(-1);
  await openTable(page, server, project.id);
  await openHttp(page, 'https://example.com/');
  await panel.getByLabel('Header').fill('Lookup');
  await panel.getByRole('button', { name: 'Create column' }).click();
  await page.getByRole('complementary', { name: 'Lookup', exact: true }).waitFor();
  // An added dependency is not shown as a correction.
  const { id, apiConfig, dependencies } = await stored();
  assert.equal(dependencies.length, 1);
  assert.equal(await panel.getByText('Corrected while saving').count(), 0);

  const others = (part) => server.api('PATCH', `/projects/${project.id}/columns/${id}`, part);
  const type = async (text) => {
    await address.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
  };
  const saved = () => page.waitForResponse((response) => response.request().method() === 'PATCH' && response.ok());
  await type('https://mine.example');
  await others({ apiConfig: { ...apiConfig, responsePath: 'name' }, header: 'Theirs' });
  const merged = saved();
  await save.click();
  await merged;
  const both = await stored();
  assert.deepEqual([both.header, both.apiConfig.url, both.apiConfig.responsePath], ['Theirs', 'https://mine.example', 'name']);

  await until('all is saved', () => save.isDisabled());
  await type('https://mine.example/2');
  await others({ apiConfig: { ...both.apiConfig, url: 'https://theirs.example/2' } });
  await save.click();
  await dialog.getByText('“URL” was changed in the meantime: “https://theirs.example/2”').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'panel-meanwhile');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await stored()).apiConfig.url, 'https://theirs.example/2');
  await save.click();
  const over = saved();
  await dialog.getByRole('button', { name: 'Keep mine' }).click();
  await over;
  assert.equal((await stored()).apiConfig.url, 'https://mine.example/2');

  await until('all is saved', () => save.isDisabled());
  await type('https://mine.example/3');
  await panel.getByLabel('Header').fill('Ours');
  await others({ apiConfig: { ...both.apiConfig, url: 'https://theirs.example/3' } });
  await save.click();
  const kept = saved();
  await dialog.getByRole('button', { name: 'Keep theirs' }).click();
  await kept;
  await until('theirs is shown', async () => (await address.textContent()) === 'https://theirs.example/3');
  const end = await stored();
  assert.deepEqual([end.header, end.apiConfig.url], ['Ours', 'https://theirs.example/3']);
  await panel.getByRole('button', { name: 'Close the panel' }).click();
}

/** Text typed into a row that another user deletes is shown, not lost. */
async function keepsTyped(page, server, project) {
  const grid = gridOf(page);
  const { rows } = await server.api('GET', `/projects/${project.id}/rows`);
  await page.route('**/cells', async (route) => {
    await server.api('DELETE', `/projects/${project.id}/rows`, { rowIds: [rows.at(-1).id] });
    await route.continue();
  }, { times: 1 });
  await grid.type(rows.length - 1, 1, 'long thoughts');
  await page.getByText('This row was deleted in the meantime. Your text: “long thoughts”').waitFor();
  await shot(page, 'row-deleted-meanwhile');
}
