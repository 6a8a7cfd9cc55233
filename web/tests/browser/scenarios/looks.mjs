// Every page, in both colour schemes and three widths, looks as in the repository's pictures.
// After a wanted change: UPDATE_PICTURES=1 npm run test:browser looks
import assert from 'node:assert/strict';
import { compare } from '../harness/compare.mjs';
import { gridOf, openTable, openWindow, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const WIDTHS = { phone: { width: 390, height: 780 }, tablet: { width: 900, height: 700 }, desktop: { width: 1360, height: 820 } };
const SCHEMES = ['light', 'dark'];

export default async function looks({ browser, server }) {
  const { project } = await server.api('POST', '/projects/sample');
  await server.api('POST', `/projects/${project.id}/trigger`, {});
  await until('the sample is filled', async () => {
    const { columns } = await server.api('GET', `/projects/${project.id}/status`);
    return Object.values(columns).every(({ idle, queued, generating }) => idle + queued + generating === 0);
  });

  const different = [];
  for (const [size, viewport] of Object.entries(WIDTHS)) {
    for (const colorScheme of SCHEMES) {
      const { context, page, complaints } = await openWindow(browser, { viewport, colorScheme, reducedMotion: 'reduce' });
      for (const [name, show] of Object.entries(PAGES)) {
        await show(page, server, project.id);
        await page.evaluate(() => document.fonts.ready);
        await page.mouse.move(2, 2);
        different.push(await compare(page, `${name}-${colorScheme}-${size}`));
      }
      assert.deepEqual(complaints, []);
      await context.close();
    }
  }
  assert.deepEqual(different.filter(Boolean), []);
}

/** In this order: the first is seen before the sign-in. */
const PAGES = {
  signin: async (page, server) => {
    await page.goto(`${server.url}/`);
    await page.getByLabel('API key').waitFor();
  },
  projects: async (page, server) => {
    await signIn(page, server);
    await page.getByRole('link', { name: /Sample/ }).first().waitFor();
  },
  table: async (page, server, projectId) => {
    await openTable(page, server, projectId);
    await gridOf(page).has(10);
  },
  column: async (page, server, projectId) => {
    await openTable(page, server, projectId);
    await page.getByRole('button', { name: 'Add column' }).click();
    await page.getByRole('button', { name: /^Reference/ }).waitFor();
  },
  settings: async (page, server) => {
    await page.goto(`${server.url}/settings`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
  },
};
