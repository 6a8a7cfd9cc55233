// Every page in both colour schemes and three widths: as in the repository's pictures, and without accessibility findings.
// After a wanted change: UPDATE_PICTURES=1 npm run test:browser pages
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { openWindow, shot } from '../harness/browser.mjs';
import { compareHalf } from '../harness/compare.mjs';
import { furnish } from '../harness/furnish.mjs';
import { startProvider } from '../harness/provider.mjs';
import { visits } from '../harness/visits.mjs';

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
  for (const name of TOUCHED) if (isWanted(name) || name === 'projects') await visit(page, `touch-${name}`, all[name]);
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
