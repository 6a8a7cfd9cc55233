// Every page in both colour schemes and three widths: as in the repository's pictures, and without accessibility findings.
// After a wanted change: UPDATE_PICTURES=1 npm run test:browser pages
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openWindow, shot, signIn } from '../harness/browser.mjs';
import { compareHalf } from '../harness/compare.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

const WIDTHS = { desktop: { width: 1360, height: 820 }, tablet: { width: 900, height: 700 }, phone: { width: 390, height: 780 } };
/** In this order one thing changes at a time: the grid draws itself once for each. */
const LOOKS = ['light-desktop', 'dark-desktop', 'dark-tablet', 'light-tablet', 'light-phone', 'dark-phone'];
/** What axe looks at differs in these. */
const EXAMINED = ['light-desktop', 'dark-desktop', 'light-phone'];
/** What is also opened with a finger, on a small screen. */
const TOUCHED = ['projects', 'table', 'gallery', 'column-ai', 'cell', 'filter', 'import'];

/** With `PAGES=table,cell` only these pages are looked at. */
const isWanted = (name) => !process.env.PAGES || process.env.PAGES.split(',').includes(name);

export default async function pages({ browser, server }) {
  const provider = await startProvider();
  try {
    const project = await furnish(server, provider);
    const findings = [];
    const { page, context, complaints } = await openWindow(browser, { reducedMotion: 'reduce' });
    for (const [name, open] of Object.entries(visits(server, project))) {
      if (!isWanted(name) && name !== 'projects') continue;
      await visit(page, name, open);
      if (isWanted(name)) findings.push(...(await look(page, name)));
    }
    // The browser logs the expected 404.
    assert.deepEqual(complaints.filter((words) => !words.includes('404')), []);
    await context.close();
    await touch(browser, server, project);
    assert.equal(findings.length, 0, `\n${findings.join('\n')}`);
  } finally {
    provider.stop();
  }
}

async function visit(page, name, open) {
  try {
    await open(page);
  } catch (error) {
    await shot(page, `failed-${name}`);
    throw new Error(`${name}: ${error.message}`);
  }
}

/** What is wrong with an open page, in every look. */
async function look(page, name) {
  const findings = [];
  const needsHelp = /^(column|settings|project)-/.test(name) && name !== 'settings-usage';
  if (needsHelp && (await page.locator('#main a[href*="docs/"]').count()) === 0) findings.push(`${name}: no link to a guide`);
  await page.mouse.move(2, 2);
  for (const looks of LOOKS) {
    const [colorScheme, size] = looks.split('-');
    await page.setViewportSize(WIDTHS[size]);
    await page.emulateMedia({ colorScheme });
    findings.push(await compareHalf(page, `${name}-${looks}`));
    if (!EXAMINED.includes(looks)) continue;
    for (const wide of await overflowing(page)) findings.push(`${looks} ${name}: reaches beyond the page: ${wide}`);
    for (const finding of await seriousFindings(page)) findings.push(`${looks} ${name}: ${finding}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(WIDTHS.desktop);
  return findings.filter(Boolean);
}

async function touch(browser, server, project) {
  const { page, context, complaints } = await openWindow(browser, { viewport: WIDTHS.phone, hasTouch: true, isMobile: true });
  const all = visits(server, project);
  for (const name of TOUCHED) await visit(page, `touch-${name}`, all[name]);
  assert.deepEqual(complaints, []);
  await context.close();
}

/** Elements that stick out of the window where horizontal scrolling is not intended. */
function overflowing(page) {
  return page.evaluate(() => {
    const isHeld = ({ parentElement: up }) => up.id !== 'main' && (/auto|scroll|hidden|clip/.test(getComputedStyle(up).overflowX) || isHeld(up));
    return [...document.querySelectorAll('#main *')]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1 && !isHeld(element))
      .map((element) => element.outerHTML.slice(0, 120));
  });
}

/** The steps to each page. They run in one window, in order, starting signed out. */
function visits(server, project) {
  const at = (path, heading) => async (page) => {
    await page.goto(server.url + path);
    await page.getByRole('heading', { name: heading }).first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => {});
  };
  const table = async (page) => {
    await page.goto(`${server.url}/projects/${project.id}`);
    await page.getByText('Live', { exact: true }).waitFor();
    await gridOf(page).reads(0, 1, 'Acme');
  };
  const gallery = async (page) => {
    await table(page);
    await page.getByRole('button', { name: 'Add column' }).click();
    await page.getByRole('complementary').getByText('AI text').waitFor();
  };
  const template = (name) => async (page) => {
    await gallery(page);
    await page.getByRole('complementary').getByRole('button', { name }).click();
    await page.getByRole('textbox', { name: 'Header' }).waitFor();
  };
  return {
    signin: at('/?signin=expired', 'Sign in'),
    projects: async (page) => {
      await signIn(page, server);
      await page.getByRole('link', { name: project.title }).waitFor();
    },
    table,
    gallery,
    'column-ai': template(/^AI text/),
    'column-json': template(/^AI data/),
    'column-waterfall': template(/^Email waterfall/),
    'column-scraper': template(/^Web scraper/),
    'column-http': template(/^HTTP/),
    'column-reference': template(/^Reference/),
    cell: async (page) => {
      await table(page);
      const column = page.getByRole('combobox', { name: 'Column' });
      await until('the panel of a cell is open', async () => {
        await gridOf(page).select(1, 1);
        await page.keyboard.press('Space');
        return column.isVisible();
      });
      await column.click();
      await page.getByRole('option', { name: 'Found' }).click();
      await page.getByText('History').waitFor();
    },
    filter: async (page) => {
      await table(page);
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('button', { name: 'Add a condition' }).click();
      await page.getByRole('button', { name: 'Add a group' }).first().click();
    },
    import: async (page) => {
      await table(page);
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('Drop a file here').waitFor();
    },
    'settings-providers': at('/settings/providers', 'E-mail finders'),
    'settings-secrets': at('/settings/secrets', 'Secrets'),
    'settings-keys': at('/settings/keys', 'API keys'),
    'settings-sessions': at('/settings/sessions', 'Signed-in browsers'),
    'settings-webhooks': at('/settings/webhooks', 'Webhooks'),
    'settings-agents': at('/settings/agents', 'Connect an agent'),
    'settings-team': at('/settings/team', 'Your team'),
    'settings-usage': at('/settings/usage', 'Usage'),
    'settings-spending': at('/settings/spending', 'Spending caps'),
    'project-general': at(`/projects/${project.id}/settings/general`, 'Running'),
    'project-api': at(`/projects/${project.id}/settings/api`, 'API access'),
    'project-hooks': at(`/projects/${project.id}/settings/hooks`, 'Inbound webhooks'),
    'project-event': at(`/projects/${project.id}/settings/event`, 'Event platform'),
    'not-found': at('/projects/none/such/page', 'Page not found'),
    'no-project': at('/projects/none', 'Page not found'),
  };
}

/** A project with cells in many states. */
async function furnish(server, provider) {
  const api = { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Company}' } };
  const { project } = await server.api('POST', '/projects', {
    title: 'Leads for spring',
    columns: [
      { templateId: 'manual', header: 'Company' },
      { templateId: 'manual', header: 'City' },
      { templateId: 'http-api', header: 'Found', apiConfig: api, retry: { maxAttempts: 1 } },
      { templateId: 'ai-text', header: 'Opening line', aiConfig: { prompt: 'Write to @{Company} in @{City} about @{Found}.' } },
    ],
  });
  const names = ['Acme', 'fail Ltd', 'Northwind', 'Initech', 'Hooli', 'Globex', 'Umbrella'];
  const cities = ['London', 'Turin', 'Oslo'];
  const rows = Array.from({ length: 60 }, (_, index) => ({ Company: names[index % 7], City: cities[index % 3] }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  await server.api('POST', `/projects/${project.id}/trigger`, { limit: 12 });
  await until('the cells have run', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
  const { rows: listed } = await server.api('GET', `/projects/${project.id}/rows?pageSize=5`);
  const found = project.columns[3].id;
  await server.api('PATCH', `/projects/${project.id}/cells`, {
    cells: [
      { rowId: listed[2].id, columnId: found, value: 'Edited manually' },
      { rowId: listed[3].id, columnId: project.columns[2].id, value: 'Elsewhere' },
    ],
  });
  await server.api('POST', `/projects/${project.id}/views`, { name: 'Failed', filters: [{ columnId: found, operator: 'statusIs', value: 'error' }] });
  return project;
}
