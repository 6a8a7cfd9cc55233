// Starts the browser, and drives the table as a user does.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

// Without hinting, letters are as wide in one build of Chromium as in another.
const FLAGS =
  '--headless --font-render-hinting=none --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';
const SHOTS = join(dirname(fileURLToPath(import.meta.url)), '../../screenshots');

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS.split(' ') });
}

/** Opens a window with its own cookies. Collects console errors in `complaints`. */
export async function openWindow(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 820 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.setDefaultTimeout(15_000);
  return { context, page, complaints };
}

export async function signIn(page, server) {
  await page.goto(`${server.url}/`);
  await page.getByLabel('API key').fill(server.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: /^Team/ }).waitFor();
}

export async function openTable(page, server, projectId) {
  await page.goto(`${server.url}/projects/${projectId}`);
  await page.getByTestId('data-grid-canvas').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
}

export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

/** The grid by row and column, from 0. It draws on a canvas, with a hidden table for screen readers, which is read here. */
export function gridOf(page) {
  const cell = (row, column) => page.locator(`[id="glide-cell-${column + 1}-${row}"]`);
  const point = async (row, column) => {
    const box = await page.getByTestId('data-grid-canvas').boundingBox();
    return [box.x + 60 + column * 190 + 20, box.y + 36 + row * 33 + 16];
  };
  return {
    cell,
    /** Clicks a cell and waits until it is drawn as selected. */
    select: async (row, column) => {
      await page.mouse.click(...(await point(row, column)));
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    },
    rightClick: async (row, column) => page.mouse.click(...(await point(row, column)), { button: 'right' }),
    doubleClick: async (row, column) => page.mouse.dblclick(...(await point(row, column))),
    selectHeader: async (column) => page.mouse.click(...(await point(-1, column))),
    hover: async (row, column) => page.mouse.move(...(await point(row, column))),
    /** Waits until a cell has this text. */
    reads: (row, column, text) =>
      page.waitForFunction(
        ([id, wanted]) => document.getElementById(id)?.textContent === wanted,
        [`glide-cell-${column + 1}-${row}`, text],
      ),
    /** Waits until the grid has at least this many rows, without the header. */
    has: (rows) =>
      page.waitForFunction((wanted) => Number(document.querySelector('[role="grid"]')?.getAttribute('aria-rowcount')) > wanted, rows),
    async type(row, column, text) {
      await this.select(row, column);
      await page.keyboard.type(text);
      await page.keyboard.press('Enter');
    },
  };
}

/** Pastes text as if it was copied from a spreadsheet. */
export function paste(page, text) {
  return page.evaluate((pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}
