// Inbound hooks of a project: made, sent to, replayed, given another address.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { shot, signIn } from '../harness/browser.mjs';

export default async function hooks({ server, page }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Leads',
    columns: [
      { templateId: 'manual', header: 'Email' },
      { templateId: 'manual', header: 'Source' },
    ],
  });
  await signIn(page, server);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${server.url}/projects/${project.id}/settings/hooks`);
  await page.getByText('No hooks yet.').waitFor();
  const first = await make(page);
  const send = async (address, body) => {
    const headers = { 'Content-Type': 'application/json', 'X-Source': 'shop' };
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.status;
  };
  assert.equal(await send(first, { Email: 'ada@example.com', Plan: 'pro' }), 200);
  assert.equal(await send(first, [{ Email: 'alan@example.com' }, 7]), 400);
  const { rows } = await server.api('GET', `/projects/${project.id}/rows?keyBy=header`);
  assert.deepEqual(rows.map(({ cells }) => [cells.Email, cells.Source]), [['ada@example.com', 'shop']]);

  const hook = page.getByRole('region', { name: 'Hook Contact form' });
  await hook.getByRole('button', { name: 'Deliveries' }).click();
  const log = hook.getByRole('table', { name: 'Deliveries that came in' });
  await log.getByText('1 row added').waitFor();
  await log.getByText('[1] must be an object').waitFor();
  await log.getByRole('row', { name: /1 row added/ }).getByRole('button', { name: /^Show / }).click();
  await log.getByText('"Plan": "pro"').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'settings-hooks');
  await log.getByRole('row', { name: /1 row added/ }).getByRole('button', { name: /^Replay / }).click();
  await log.getByText(/1 row unchanged.*\(replayed\)/).waitFor();

  await hook.getByRole('button', { name: 'New address' }).click();
  await page.getByRole('button', { name: 'Make address' }).click();
  const second = await copied(page, first);
  assert.equal(await send(first, { Email: 'grace@example.com' }), 200, 'the old address works on');
  assert.equal(await send(second, { Email: 'grace@example.com' }), 200);
  await hook.getByText('The address before works until').waitFor();
  await hook.getByRole('button', { name: 'Disable', exact: true }).click();
  await hook.getByText('disabled', { exact: true }).waitFor();
  assert.equal(await send(second, { Email: 'joan@example.com' }), 200);
  await log.getByText('The hook is disabled').waitFor({ timeout: 15_000 });
  await hook.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete hook' }).click();
  await page.getByText('No hooks yet.').waitFor();
  assert.equal(await send(second, { Email: 'x' }), 404);
}

/** Makes a hook that matches on the e-mail address and writes a header; says its address. */
async function make(page) {
  await page.getByRole('button', { name: 'New hook' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Contact form');
  await choose(page, dialog, 'Update the row with the same', 'Email');
  await dialog.getByRole('button', { name: 'Write a request header into a column' }).click();
  await dialog.getByLabel('Header', { exact: true }).fill('X-Source');
  await choose(page, dialog, 'Column', 'Source');
  assert.deepEqual(await seriousFindings(page), []);
  await shot(page, 'hook-dialog');
  await dialog.getByRole('button', { name: 'Create hook' }).click();
  return copied(page);
}

async function choose(page, dialog, label, option) {
  await dialog.getByRole('combobox', { name: label, exact: true }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

/** The address that the page shows once: another than the one known. */
async function copied(page, known = '') {
  await page.getByRole('alert').filter({ hasText: 'shown only once' }).filter({ hasNotText: known || 'nothing of the kind' }).waitFor();
  await page.getByRole('button', { name: 'Copy: Address' }).click();
  return page.evaluate(() => navigator.clipboard.readText());
}
