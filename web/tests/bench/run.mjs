// Measures the page on a large table: time to first rows, frame rate while scrolling, download size.
//   ROWMILL_URL, ROWMILL_KEY, ROWMILL_PROJECT name a running service and a project with many rows.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { launch, openWindow, signIn } from '../browser/harness/browser.mjs';

const SECONDS = 4;
const ROUNDS = 5;

const { ROWMILL_URL: url, ROWMILL_KEY: key, ROWMILL_PROJECT: projectId } = process.env;
const results = { bundle: sizes(fileURLToPath(new URL('../../dist', import.meta.url))) };
if (url && key && projectId) {
  const browser = await launch();
  const { page } = await openWindow(browser);
  await signIn(page, { url, key });
  results.firstPaintMilliseconds = await firstPaint(page);
  results.scrolling = { steady: await scroll(page, 900), jumping: await scroll(page, 400_000) };
  await browser.close();
}
console.log(JSON.stringify(results, null, 2));

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

/** Frames per second while the grid scrolls by this many pixels per frame. */
function scroll(page, pixelsPerSecond) {
  return page.evaluate(
    ([seconds, speed]) =>
      new Promise((resolve) => {
        const scroller = document.querySelector('.dvn-scroller');
        const gaps = [];
        const startedAt = performance.now();
        let last = startedAt;
        const step = (now) => {
          gaps.push(now - last);
          scroller.scrollTop += (speed * (now - last)) / 1000;
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
    [SECONDS, pixelsPerSecond],
  );
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
