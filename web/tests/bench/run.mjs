// Measures the page on a large table: time to first rows, frame rate while scrolling, input delay, download size.
//   ROWMILL_BIN names the binary. It is started, and gets a table of ROWS rows (1,000,000) and COLUMNS columns (100).
//   ROWMILL_URL, ROWMILL_KEY, ROWMILL_PROJECT name a running service and a project instead.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { launch, openWindow, signIn } from '../browser/harness/browser.mjs';
import { startServer } from '../browser/harness/server.mjs';

const SECONDS = 4;
const ROUNDS = 5;
const KEYS = 60;
const BATCH = 1_000;

const results = { bundle: sizes(process.env.ROWMILL_WEB_DIST ?? fileURLToPath(new URL('../../dist', import.meta.url))) };
const { url, key, projectId, stop } = await table();
if (projectId) {
  const browser = await launch();
  const { page } = await openWindow(browser);
  await signIn(page, { url, key });
  results.firstPaintMilliseconds = await firstPaint(page);
  results.scrolling = {
    down: await scroll(page, 'scrollTop', 900),
    jumping: await scroll(page, 'scrollTop', 400_000),
    across: await scroll(page, 'scrollLeft', 1_500),
  };
  results.inputDelay = await inputDelay(page);
  await browser.close();
}
await stop?.();
console.log(JSON.stringify(results, null, 2));

/** The table to measure: the one that is named, or a new one in a service of its own. */
async function table() {
  const { ROWMILL_URL, ROWMILL_KEY, ROWMILL_PROJECT, ROWMILL_BIN, ROWS = '1000000', COLUMNS = '100' } = process.env;
  if (ROWMILL_URL) return { url: ROWMILL_URL, key: ROWMILL_KEY, projectId: ROWMILL_PROJECT };
  if (!ROWMILL_BIN) return {};
  const server = await startServer();
  const headers = Array.from({ length: Number(COLUMNS) }, (_, number) => `Column ${number + 1}`);
  const { project } = await server.api('POST', '/projects', { title: 'Large', columns: headers.map((header) => ({ templateId: 'manual', header })) });
  for (let row = 0; row < Number(ROWS); row += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, Number(ROWS) - row) }, (_, place) =>
      Object.fromEntries(headers.map((header, column) => [header, column % 3 === 0 ? (row + place) * (column + 1) : `R${row + place} C${column}`])),
    );
    await server.api('POST', `/projects/${project.id}/rows`, rows);
  }
  results.table = { rows: Number(ROWS), columns: headers.length };
  return { url: server.url, key: server.key, projectId: project.id, stop: server.stop };
}

/** Time from navigation until the grid shows rows; the median of several rounds. */
async function firstPaint(page) {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto('about:blank');
    const startedAt = performance.now();
    await page.goto(`${url}/projects/${projectId}`, { waitUntil: 'commit' });
    await page.waitForFunction(() => document.getElementById('glide-cell-2-0')?.textContent);
    times.push(performance.now() - startedAt);
  }
  return Math.round(times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]);
}

/** Frames per second while the grid scrolls this way, by this many pixels a second. */
function scroll(page, way, pixelsPerSecond) {
  return page.evaluate(
    ([way, seconds, speed]) =>
      new Promise((resolve) => {
        const scroller = document.querySelector('.dvn-scroller');
        const gaps = [];
        const startedAt = performance.now();
        let last = startedAt;
        const step = (now) => {
          gaps.push(now - last);
          scroller[way] += (speed * (now - last)) / 1000;
          last = now;
          if (now - startedAt < seconds * 1000) return requestAnimationFrame(step);
          gaps.sort((a, b) => a - b);
          resolve({
            framesPerSecond: Math.round((gaps.length / (now - startedAt)) * 1000),
            slowestFrameMilliseconds: Math.round(gaps.at(-1)),
            frame99thMilliseconds: Math.round(gaps[Math.floor(gaps.length * 0.99)]),
          });
        };
        requestAnimationFrame(step);
      }),
    [way, SECONDS, pixelsPerSecond],
  );
}

/** Milliseconds from a key press until the next frame is drawn: moving by arrow keys, and typing into a cell. */
async function inputDelay(page) {
  await page.evaluate(() => {
    globalThis.delays = [];
    const drawn = (done) => requestAnimationFrame(() => setTimeout(done));
    addEventListener('keydown', ({ timeStamp }) => drawn(() => globalThis.delays.push(performance.now() - timeStamp)), true);
  });
  const press = async (...keys) => {
    await page.evaluate(() => (globalThis.delays = []));
    for (let count = 0; count < KEYS; count += 1) await page.keyboard.press(keys[count % keys.length]);
    const delays = (await page.evaluate(() => globalThis.delays)).sort((a, b) => a - b);
    const at = (share) => Math.round(delays[Math.floor(delays.length * share)] ?? -1);
    return { medianMilliseconds: at(0.5), percentile95Milliseconds: at(0.95) };
  };
  const box = await page.getByTestId('data-grid-canvas').boundingBox();
  await page.mouse.click(box.x + 300, box.y + 200);
  const moving = await press('ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowLeft');
  await page.keyboard.press('Enter');
  const typing = await press('a', 'b', 'c');
  await page.keyboard.press('Escape');
  return { moving, typing };
}

/** Gzipped kilobytes: all files, and those that index.html names. */
function sizes(dist) {
  const assets = join(dist, 'assets');
  const size = (path) => gzipSync(readFileSync(path)).length;
  const page = readFileSync(join(dist, 'index.html'), 'utf8');
  const first = readdirSync(assets).filter((file) => page.includes(file));
  const kilobytes = (files) => Math.round(files.reduce((sum, file) => sum + size(join(assets, file)), 0) / 102.4) / 10;
  return { firstLoadKilobytes: kilobytes(first), allKilobytes: kilobytes(readdirSync(assets)) };
}
