// Signing in by key and by the first link, staying signed in, and signing out.
import assert from 'node:assert/strict';
import { openWindow, signIn } from '../harness/browser.mjs';

export default async function session({ browser, server, page, complaints }) {
  await page.goto(`${server.url}/settings/keys`);
  await page.getByLabel('API key').fill('rm_wrong');
  const refused = page.waitForResponse((response) => response.url().endsWith('/session') && response.status() === 403);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await refused;
  await page.getByText('This key is not known here').waitFor();
  // Browsers log every refused request; this one was meant to be.
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
  await second.page.getByText('That link has been used').waitFor();
  assert.deepEqual(second.complaints, []);
  await second.context.close();
}
