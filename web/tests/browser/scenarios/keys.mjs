// API keys with restrictions: made, shown, rotated, and a page of somebody who may only read.
import assert from 'node:assert/strict';
import { openWindow, signIn } from '../harness/browser.mjs';

export default async function keys({ browser, server, page, complaints }) {
  const { project } = await server.api('POST', '/projects', { title: 'Leads' });
  await signIn(page, server);
  await page.goto(`${server.url}/settings/keys`);
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog', { name: 'New API key' });
  await dialog.getByLabel('Key name').fill('Viewer');
  for (const label of ['Write', 'Run', 'Schema']) await dialog.getByRole('checkbox', { name: label }).uncheck();
  await dialog.getByRole('combobox', { name: 'Projects' }).click();
  await page.getByRole('option', { name: 'Leads' }).click();
  await page.keyboard.press('Escape');
  assert.equal(await dialog.getByRole('checkbox', { name: 'Admin' }).isChecked(), false, 'admin is for the whole team');
  await dialog.getByRole('combobox', { name: 'Allowed addresses' }).fill('nonsense');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await dialog.getByText(/must be an address/).first().waitFor();
  // The browser logs the expected refusal.
  assert.deepEqual(complaints.splice(0).filter((words) => !words.includes('400')), []);
  await dialog.getByRole('combobox', { name: 'Allowed addresses' }).press('Backspace');
  await dialog.getByRole('combobox', { name: 'Allowed addresses' }).fill('127.0.0.0/8');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Copy it now.').waitFor();
  await page.getByText('read; only Leads; from 127.0.0.0/8').waitFor();

  const { keys: made } = await server.api('GET', '/keys');
  const viewer = made.find((key) => key.name === 'Viewer');
  assert.deepEqual([viewer.scopes, viewer.projectIds], [['read'], [project.id]]);

  await page.getByRole('button', { name: 'Rotate Viewer' }).click();
  await page.getByRole('button', { name: 'Rotate key' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  const { keys: rotated } = await server.api('GET', '/keys');
  assert.equal(rotated.filter((key) => key.name === 'Viewer').length, 2);
  assert.ok(rotated.find((key) => key.id === viewer.id).expiresAt, 'the old key ends');

  const { secret } = await server.api('POST', '/keys', { name: 'Reader', scopes: ['read'] });
  const reader = await openWindow(browser);
  await signIn(reader.page, { ...server, key: secret });
  await reader.page.goto(`${server.url}/settings/keys`);
  await reader.page.getByText(/lacks the scope/).waitFor();
  await reader.context.close();
}
