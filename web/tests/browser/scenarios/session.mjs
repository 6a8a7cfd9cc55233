// Signing in by key and by sign-in link, staying signed in, signing out, and losing access.
import assert from 'node:assert/strict';
import { openTable, openWindow, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function session({ browser, server, page, complaints }) {
  await page.goto(`${server.url}/settings/keys`);
  await page.getByLabel('API key').fill('rm_wrong');
  const refused = page.waitForResponse((response) => response.url().endsWith('/session') && response.status() === 403);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await refused;
  await page.getByText('This key is unknown or was revoked').waitFor();
  // The browser logs the expected 401.
  complaints.length = 0;

  await signIn(page, server);
  await page.reload();
  const beside = await page.context().newPage();
  await beside.goto(server.url);
  await beside.getByRole('button', { name: /^Team/ }).waitFor();
  await page.getByRole('button', { name: /^Team/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await beside.getByRole('heading', { name: 'Sign in' }).waitFor();
  await beside.close();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();

  const first = await openWindow(browser);
  await first.page.goto(server.link);
  await first.page.getByRole('button', { name: /^Team/ }).waitFor();
  await first.context.close();

  const second = await openWindow(browser);
  await second.page.goto(server.link);
  await second.page.getByText('This link does not work any more').waitFor();
  assert.deepEqual(second.complaints, []);
  await second.context.close();
  await shutOut(browser, server);
}

/** An open table reports that its project was deleted, and asks to sign in when its key is revoked. */
async function shutOut(browser, server) {
  const make = async (title) => (await server.api('POST', '/projects', { title })).project.id;
  const { key, secret } = await server.api('POST', '/keys', { name: 'For a while' });
  const { page, complaints, context } = await openWindow(browser);
  await signIn(page, { ...server, key: secret });

  const deleted = await make('Deleted');
  await openTable(page, server, deleted);
  await server.api('DELETE', `/projects/${deleted}`);
  await page.getByText('Page not found').waitFor();

  const kept = await make('Kept');
  await openTable(page, server, kept);
  await server.api('DELETE', `/keys/${key.id}`);
  // The event stream checks the key before it sends an event.
  const isAsked = () => page.getByRole('heading', { name: 'Sign in' }).isVisible();
  await until('another key is asked for', async () => (await isAsked()) || (await server.api('POST', `/projects/${kept}/rows`, [{}]), false));
  assert.deepEqual(complaints.filter((words) => !/40[14]/.test(words)), []);
  await context.close();
}
