// Forms of a project: corrections are shown, API access is switched, guests of an event arrive.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';

export default async function forms({ browser, server, page, complaints }) {
  const { project } = await server.api('POST', '/projects', { title: 'Forms', columns: [{ templateId: 'manual', header: 'Name' }] });
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'Ada' }]);
  await signIn(page, server);
  await corrections(page, server, project);
  await apiAccess(page, server, project, complaints);
  await guests(browser, page, server, project);
}

/** Corrections by the service are shown in the panel of a new or changed column until they are closed. */
async function corrections(page, server, project) {
  const panel = page.getByRole('complementary');
  const told = panel.getByRole('alert').filter({ hasText: 'Corrected while saving' });
  await openTable(page, server, project.id);
  await page.getByRole('button', { name: 'Add column' }).click();
  await panel.getByRole('button', { name: /^Manual|^Text/ }).first().click();
  await panel.getByLabel('Header').fill('Name');
  await panel.getByRole('button', { name: 'Create column' }).click();
  await page.getByRole('complementary', { name: 'Name 2', exact: true }).waitFor();
  await told.getByText(/“?"?Name 2/).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'panel-put-right');

  // Text typed during a save is not lost.
  let letGo = () => {};
  await page.route('**/columns/*', (route) => {
    letGo = () => void route.continue();
  }, { times: 1 });
  await told.getByRole('button', { name: 'Close' }).click();
  await panel.getByLabel('Header').fill('NAME');
  const sent = page.waitForRequest('**/columns/*');
  await panel.getByRole('button', { name: 'Save' }).click();
  await sent;
  await panel.getByLabel('Header').fill('Nickname');
  letGo();
  await told.getByText(/NAME 2/).waitFor();
  assert.equal(await panel.getByLabel('Header').inputValue(), 'Nickname');
  await panel.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('complementary', { name: 'Nickname', exact: true }).waitFor();
  const { columns } = await server.api('GET', `/projects/${project.id}/columns`);
  assert.deepEqual(columns.map(({ header }) => header), ['Input', 'Name', 'Nickname']);
}

async function apiAccess(page, server, project, complaints) {
  const settings = `${server.url}/projects/${project.id}/settings/api`;
  const saved = () => page.getByText('Saved.').last().waitFor();
  const turn = async (name, isOn) => {
    const patched = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.getByRole('switch', { name }).setChecked(isOn);
    assert.equal((await patched).status(), 200);
    await saved();
  };
  await page.goto(settings);
  await page.getByText('Examples', { exact: true }).waitFor();
  await shot(page, 'settings-api');

  // Every example command works unchanged.
  const examples = new Map();
  for (const command of await page.locator('pre', { hasText: 'curl' }).allTextContents()) examples.set(command, requestOf(command, server.key));
  assert.equal(examples.size, 6);
  for (const [command, { url, ...init }] of examples) {
    const stopping = new AbortController();
    const response = await fetch(url, { ...init, signal: stopping.signal });
    assert.ok(response.ok, `${command}: ${response.status}`);
    stopping.abort();
  }
  const { rows } = await server.api('GET', `/projects/${project.id}/rows`);
  assert.deepEqual(rows.map((row) => row.cells[project.columns[1].id]), ['Ada', 'Ada'], 'the example adds a row');

  // Reading needs a key or not, by the setting; writing always does.
  const list = [...examples.values()].at(-1).url;
  const status = async (url, init) => (await fetch(url, init)).status;
  const write = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"Name": "x"}' };
  assert.equal(await status(list), 401);
  await turn('Require a key for reading', false);
  assert.equal(await status(list), 200);
  assert.equal(await status(list, write), 401);
  await turn('Require a key for reading', true);
  assert.equal(await status(list), 401);

  await turn('Create columns for unknown fields', true);
  const [add] = examples.values();
  await fetch(add.url, { ...add, body: '{"Name": "Grace", "City": "New York"}' });
  const { columns } = await server.api('GET', `/projects/${project.id}/columns`);
  assert.equal(columns.at(-1).header, 'City');

  // With API access off, nobody can read or write until it is on again.
  await page.getByRole('switch', { name: 'API access enabled' }).setChecked(false);
  await page.getByText('API access is turned off for this project').waitFor();
  assert.equal(await status(add.url, add), 403);
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'settings-api-off');
  await page.getByRole('button', { name: 'Turn on API access' }).click();
  await page.getByRole('switch', { name: 'API access enabled' }).waitFor();
  assert.equal(await status(add.url, add), 201);
  // The browser logs the expected refusals.
  assert.deepEqual(complaints.splice(0).filter((words) => !words.includes('403')), []);
}

/** The request that a shell command makes. */
function requestOf(command, key) {
  const words = [...command.replaceAll('\\\n', ' ').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c);
  const request = { method: 'GET', headers: {} };
  assert.equal(words.shift(), 'curl');
  while (words.length > 0) {
    const word = words.shift();
    if (word === '-H') {
      const [name, value] = words.shift().split(': ');
      request.headers[name] = value.replace('$KEY', key);
    } else if (word === '-d') Object.assign(request, { method: 'POST', body: words.shift() });
    else if (word !== '-N') request.url = word;
  }
  return request;
}

async function guests(browser, page, server, project) {
  const other = await openWindow(browser);
  await signIn(other.page, server);
  await openTable(other.page, server, project.id);
  const grid = gridOf(other.page);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${server.url}/projects/${project.id}/settings/event`);
  await page.getByRole('button', { name: /^Copy: .*webhook/ }).click();
  const address = await page.evaluate(() => navigator.clipboard.readText());
  const deliver = async (guest, secret) => {
    const body = JSON.stringify({
      type: 'guest.registered',
      created_at: new Date().toISOString(),
      data: { id: `gst-${guest}`, user_name: guest, approval_status: `${guest} approved`, event: { id: 'evt-1', name: 'Fair' } },
    });
    const time = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', secret ?? '').update(`${time}.${body}`).digest('hex');
    const headers = { 'Content-Type': 'application/json', ...(secret && { 'webhook-signature': `t=${time},v1=${signature}` }) };
    const response = await fetch(address, { method: 'POST', headers, body });
    return [response.status, (await response.json()).rowsCreated];
  };
  const save = async (name) => {
    const patched = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.getByRole('button', { name, exact: true }).click();
    assert.equal((await patched).status(), 200);
  };
  assert.deepEqual(await deliver('early'), [200, 0], 'nobody follows the event yet');

  // Copied text often has spaces around it.
  await page.getByLabel('Event ID').fill(' evt-1 ');
  await page.getByLabel('Event name').fill('Fair');
  await save('Connect');
  await page.getByRole('button', { name: 'Disconnect' }).waitFor();
  assert.deepEqual(await deliver('ada'), [200, 1]);
  // The status gets its own column, which the open table shows too.
  await other.page.locator('[role=columnheader]', { hasText: 'Guest status' }).waitFor({ state: 'attached' });
  await grid.reads(4, 4, 'ada approved');
  await shot(other.page, 'table-guests');

  await page.getByRole('textbox', { name: 'Signing secret' }).fill(' shared secret ');
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'settings-event');
  await save('Save');
  assert.deepEqual(await deliver('mallory'), [401, undefined]);
  assert.deepEqual(await deliver('mallory', 'another'), [401, undefined]);
  assert.deepEqual(await deliver('grace', 'shared secret'), [200, 1]);
  await grid.reads(5, 4, 'grace approved');

  // Saving again keeps the secret, which is never shown.
  await page.getByRole('switch', { name: 'Accept deliveries' }).setChecked(false);
  await save('Save');
  assert.deepEqual(await deliver('late', 'shared secret'), [200, 0]);
  await page.getByRole('switch', { name: 'Accept deliveries' }).setChecked(true);
  await save('Save');
  assert.deepEqual(await deliver('late'), [401, undefined]);
  await save('Disconnect');
  await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
  assert.deepEqual(await deliver('late', 'shared secret'), [200, 0]);
  await other.context.close();
}
