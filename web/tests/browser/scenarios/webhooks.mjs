// Outbound webhooks: made for a table and a column of it, changed, tested, disabled and deleted.
import assert from 'node:assert/strict';
import { signIn } from '../harness/browser.mjs';

export default async function webhooks({ server, page }) {
  const columns = ['Name', 'City'].map((header) => ({ templateId: 'manual', header }));
  const { project } = await server.api('POST', '/projects', { title: 'Leads', columns });
  const made = async () => (await server.api('GET', '/team/webhooks')).webhooks;
  await signIn(page, server);
  await page.goto(`${server.url}/settings/webhooks`);
  await page.getByRole('button', { name: 'New webhook' }).click();
  const dialog = page.getByRole('dialog', { name: 'New webhook' });
  await dialog.getByLabel('URL').fill('https://receiver.example/rowmill');
  await dialog.getByLabel('Description').fill('CRM');
  await dialog.getByRole('checkbox', { name: /row\.updated/ }).check();
  assert.equal(await dialog.getByRole('combobox', { name: 'Columns' }).count(), 0, 'columns belong to tables');
  await dialog.getByRole('combobox', { name: 'Tables' }).click();
  await page.getByRole('option', { name: 'Leads' }).click();
  await dialog.getByRole('combobox', { name: 'Columns' }).click();
  await page.getByRole('option', { name: 'City' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/whsec_/).waitFor();
  const [webhook] = await made();
  const city = project.columns.find(({ header }) => header === 'City').id;
  assert.deepEqual([webhook.events, webhook.projectIds, webhook.columnIds], [['row.updated'], [project.id], [city]]);

  const card = page.getByRole('region', { name: 'Webhook CRM' });
  await card.getByRole('button', { name: 'Edit' }).click();
  const editing = page.getByRole('dialog', { name: 'Edit webhook' });
  // Without tables there are no columns to choose from, and the filter goes, too.
  await editing.getByRole('combobox', { name: 'Tables' }).press('Backspace');
  await page.keyboard.press('Tab');
  await editing.getByRole('button', { name: 'Save' }).click();
  await editing.waitFor({ state: 'hidden' });
  const [changed] = await made();
  assert.deepEqual([changed.projectIds, changed.columnIds], [null, null]);

  await card.getByRole('button', { name: 'Disable' }).click();
  await card.getByText('disabled', { exact: true }).waitFor();
  await card.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /Delete/ }).click();
  await page.getByText('No webhooks yet.').waitFor();
  assert.deepEqual(await made(), []);
}
