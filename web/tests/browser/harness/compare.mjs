// Compares what a page looks like with the picture of it that the repository has.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PNG } from 'pngjs';
import { steady } from './steady.mjs';

const here = dirname(fileURLToPath(import.meta.url));
/** Pictures for readers have their full size. Those of every page are kept at half of it, which is enough to compare. */
const README = { folder: join(here, '../../../../docs/images'), scale: 1 };
const HALF = { folder: join(here, '../../pictures'), scale: 2 };
const DIFFERENCES = join(here, '../../screenshots');
/** Builds of the browser smooth letters differently, so squares of this many pixels are compared by their mean colour. */
const SQUARE = 8;
/** From here on, of 255, two colours are different. */
const COLOUR_DIFFERENT = 24;
/** Times of day change. A moved or missing part is more than this share of the squares. */
const DIFFERENT_MAX = 0.002;

/** How long a page may take to draw itself after a change of size or colours. */
const SETTLE_MILLISECONDS = 500;
const TRIES_MAX = 12;
const TRY_MILLISECONDS = 250;

/** What is different, in words, or nothing. With `UPDATE_PICTURES=1` the page's look becomes the picture. */
export const compare = (page, name) => compareWith(README, page, name);

/** The same for a page that may still be drawing itself: it has some time to look as it should. */
export async function compareHalf(page, name) {
  if (process.env.UPDATE_PICTURES) await page.waitForTimeout(SETTLE_MILLISECONDS);
  for (let triesLeft = TRIES_MAX; ; triesLeft -= 1) {
    await steady(page);
    const difference = await compareWith(HALF, page, name);
    if (!difference || triesLeft === 1) return difference;
    await page.waitForTimeout(TRY_MILLISECONDS);
  }
}

async function compareWith({ folder, scale }, page, name) {
  const taken = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  const whole = PNG.sync.read(taken);
  const seen = scale === 1 ? whole : half(whole);
  const path = join(folder, `${name}.png`);
  if (process.env.UPDATE_PICTURES) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, scale === 1 ? taken : PNG.sync.write(seen, { colorType: 2 }));
    return undefined;
  }
  if (!existsSync(path)) return `${name}: there is no picture of it`;
  const expected = PNG.sync.read(readFileSync(path));
  if (seen.width !== expected.width || seen.height !== expected.height) {
    return `${name}: ${seen.width}×${seen.height} instead of ${expected.width}×${expected.height}`;
  }
  const { share, picture } = difference(seen, expected, SQUARE / scale);
  if (share <= DIFFERENT_MAX) return undefined;
  mkdirSync(DIFFERENCES, { recursive: true });
  writeFileSync(join(DIFFERENCES, `${name}-seen.png`), taken);
  writeFileSync(join(DIFFERENCES, `${name}-difference.png`), PNG.sync.write(picture));
  return `${name}: ${(100 * share).toFixed(1)} % of it looks different; see web/tests/screenshots/${name}-difference.png`;
}

/** Half an image, each pixel the mean of four. */
function half(image) {
  const [width, height] = [image.width >> 1, image.height >> 1];
  const small = new PNG({ width, height });
  const line = image.width * 4;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [from, to] = [2 * y * line + 8 * x, (y * width + x) * 4];
      for (let channel = from; channel < from + 4; channel += 1) {
        const { data } = image;
        small.data[to + channel - from] = (data[channel] + data[channel + 4] + data[channel + line] + data[channel + line + 4]) >> 2;
      }
    }
  }
  return small;
}

/** The share of squares that are different, and the page with those painted red. */
function difference(seen, expected, square) {
  const { width, height } = seen;
  const picture = new PNG({ width, height });
  seen.data.copy(picture.data);
  const [columns, rows] = [Math.ceil(width / square), Math.ceil(height / square)];
  let different = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const [was, is] = [meanColour(expected, column, row, square), meanColour(seen, column, row, square)];
      if (is.every((channel, index) => Math.abs(channel - was[index]) < COLOUR_DIFFERENT)) continue;
      different += 1;
      eachPixel(picture, column, row, square, (at) => picture.data.set([255, 0, 0], at));
    }
  }
  return { share: different / (columns * rows), picture };
}

function meanColour(image, column, row, square) {
  const sums = [0, 0, 0];
  let count = 0;
  eachPixel(image, column, row, square, (at) => {
    count += 1;
    for (let channel = 0; channel < 3; channel += 1) sums[channel] += image.data[at + channel];
  });
  return sums.map((sum) => sum / count);
}

function eachPixel({ width, height }, column, row, square, visit) {
  for (let y = row * square; y < Math.min((row + 1) * square, height); y += 1) {
    for (let x = column * square; x < Math.min((column + 1) * square, width); x += 1) visit((y * width + x) * 4);
  }
}
