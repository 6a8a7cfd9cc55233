// Cells show what a value means: links open, e-mail addresses copy, checkboxes toggle, JSON is summarized, and long text
// wraps in taller rows.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, openWindow, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const HEADERS = ['Company', 'Website', 'Contact', 'Revenue', 'Stage', 'Active', 'Founded', 'Profile', 'Opening line'];
const PROFILE = { name: 'Acme Ltd', industry: 'Milling', employees: 120, offices: ['Berlin', 'Oslo'], website: 'https://acme.example' };
const LINE = 'Congratulations on the new mill in Oslo. Grain that is milled where it grows keeps its taste, and your customers will notice.';

export default async function cells({ browser, server, page }) {
  const project = await furnish(server);
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);

  // Screen readers read what is drawn.
  await grid.reads(0, 1, 'Acme 0');
  await hideInput(page, grid);
  const place = (header) => HEADERS.indexOf(header);
  await grid.reads(0, place('Company'), 'Acme 0');
  await grid.reads(0, place('Active'), 'Yes');
  await grid.reads(0, place('Founded'), 'May 1, 1999');

  // A link opens in a new window, by its button and by the menu of the cell.
  const button = async (header) => {
    const box = await page.getByTestId('data-grid-canvas').boundingBox();
    const [x, y] = [box.x + 33 + (place(header) + 1) * 190 - 12, box.y + 36 + 16];
    await page.mouse.move(x - 60, y);
    await page.mouse.move(x, y);
    await page.waitForTimeout(250);
    return [x, y];
  };
  const opened = page.waitForEvent('popup');
  await page.mouse.click(...(await button('Website')));
  assert.match((await opened).url(), /^(http:\/\/127\.0\.0\.1:\d+\/docs|about:blank|chrome-error:)/);
  await (await opened).close();
  await grid.rightClick(0, place('Website'));
  await page.getByRole('menuitem', { name: 'Open link' }).waitFor();
  await page.keyboard.press('Escape');

  // An e-mail address is copied.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.mouse.click(...(await button('Contact')));
  await page.getByText('ada0@acme.example copied.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'ada0@acme.example');

  // A click on a checkbox toggles it; a click beside it does not.
  const activeId = project.columns.find(({ header }) => header === 'Active').id;
  const stored = async () => (await server.api('GET', `/projects/${project.id}/rows?pageSize=1&withState=true`)).rows[0].cells[activeId].value;
  await page.evaluate(() => document.querySelector('.dvn-scroller').scrollTo(0, 0));
  await grid.select(0, place('Active') + 0.5);
  assert.equal(await stored(), true);
  await grid.select(0, place('Active') - 0.2);
  await until('it is off', async () => (await stored()) === false);
  await grid.reads(0, place('Active'), 'No');

  await shot(page, 'cells');
  await taller(page, grid);
  await peeks(page, grid, place);
  assert.deepEqual(await seriousFindings(page), []);
  for (const [look, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }],
  ]) {
    const other = await openWindow(browser, options);
    await signIn(other.page, server);
    await openTable(other.page, server, project.id);
    await gridOf(other.page).reads(0, 1, 'Acme 0');
    await shot(other.page, `cells-${look}`);
    assert.deepEqual(other.complaints, []);
    await other.context.close();
  }
}

/** The input column is empty and would only take room. */
async function hideInput(page, grid) {
  await grid.rightClick(-1, 0);
  await page.getByRole('menuitem', { name: 'Hide' }).click();
  await page.getByRole('button', { name: '1 hidden' }).waitFor();
}

/** Rows have four heights, which stay after a reload. */
async function taller(page, grid) {
  await page.getByRole('button', { name: 'Row height' }).click();
  const items = page.getByRole('menuitemradio');
  await items.first().waitFor();
  assert.deepEqual(await items.allTextContents(), ['Short', 'Medium', 'Tall', 'Extra tall']);
  await page.getByRole('menuitemradio', { name: 'Extra tall' }).click();
  await page.waitForTimeout(300);
  await shot(page, 'cells-extra-tall');
  await page.getByRole('button', { name: 'Row height' }).click();
  await page.getByRole('menuitemradio', { name: 'Tall', exact: true }).click();
  await page.reload();
  await grid.reads(0, 1, 'Acme 0');
  await hideInput(page, grid);
  await page.getByRole('button', { name: 'Row height' }).click();
  await items.first().waitFor();
  assert.equal(await page.getByRole('menuitemradio', { checked: true }).textContent(), 'Tall');
  await page.waitForTimeout(300);
  await shot(page, 'cells-tall');
  await page.getByRole('menuitemradio', { name: 'Short' }).click();
  await page.waitForTimeout(300);
}

/** A cell that cuts its value shows more of it on hover. */
async function peeks(page, grid, place) {
  const tooltip = page.getByRole('tooltip');
  await grid.hover(0, 0);
  await grid.hover(1, place('Stage') + 0.3);
  await page.waitForTimeout(900);
  assert.equal(await tooltip.count(), 0, 'a short value needs no peek');
  await page.evaluate(() => document.querySelector('.dvn-scroller').scrollTo(10_000, 0));
  await page.waitForTimeout(200);
  const box = await page.getByTestId('data-grid-canvas').boundingBox();
  const fromRight = (columns) => [box.x + box.width - 60 - columns * 190, box.y + 36 + 16];
  await page.mouse.move(...fromRight(1.2));
  await tooltip.getByText('industry').waitFor();
  await tooltip.getByText('Berlin, Oslo').waitFor();
  await shot(page, 'cells-peek-json');
  await page.mouse.move(...fromRight(0.6));
  await tooltip.getByText(LINE).waitFor();
  await shot(page, 'cells-peek-text');
  await page.keyboard.press('Escape');
}

async function furnish(server) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Meaning',
    columns: HEADERS.map((header) => ({ templateId: 'manual', header })),
  });
  const stages = ['Lead', 'Customer', 'Lost'];
  const rows = Array.from({ length: 24 }, (_, index) => ({
    Company: `Acme ${index}`,
    Website: index === 0 ? `${server.url}/docs` : `https://www.acme${index}.example/about`,
    Contact: `ada${index}@acme.example`,
    Revenue: 12_500 * (index + 1),
    Stage: stages[index % 3],
    Active: index % 2 === 0,
    Founded: `1999-05-${String(index + 1).padStart(2, '0')}`,
    Profile: index % 5 === 4 ? ['SaaS', 'Milling', 'Grain', 'Bakery supplies'] : { ...PROFILE, employees: 120 + index },
    'Opening line': LINE,
  }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  return project;
}
