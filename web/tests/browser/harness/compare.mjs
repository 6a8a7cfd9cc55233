// Compares what a page looks like with the picture of it that the repository has.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PNG } from 'pngjs';

const here = dirname(fileURLToPath(import.meta.url));
const PICTURES = join(here, '../../../../docs/images');
const DIFFERENCES = join(here, '../../screenshots');
/** Builds of the browser smooth letters differently, so squares of this many pixels are compared by their mean colour. */
const SQUARE = 8;
/** From here on, of 255, two colours are different. */
const COLOUR_DIFFERENT = 24;
/** Times of day change. A moved or missing part is more than this share of the squares. */
const DIFFERENT_MAX = 0.002;

/** What is different, in words, or nothing. With `UPDATE_PICTURES=1` the page's look becomes the picture. */
export async function compare(page, name) {
  const taken = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  const path = join(PICTURES, `${name}.png`);
  if (process.env.UPDATE_PICTURES) {
    mkdirSync(PICTURES, { recursive: true });
    writeFileSync(path, taken);
    return undefined;
  }
  if (!existsSync(path)) return `${name}: there is no picture of it`;
  const [seen, expected] = [PNG.sync.read(taken), PNG.sync.read(readFileSync(path))];
  if (seen.width !== expected.width || seen.height !== expected.height) {
    return `${name}: ${seen.width}×${seen.height} instead of ${expected.width}×${expected.height}`;
  }
  const { share, picture } = difference(seen, expected);
  if (share <= DIFFERENT_MAX) return undefined;
  mkdirSync(DIFFERENCES, { recursive: true });
  writeFileSync(join(DIFFERENCES, `${name}-seen.png`), taken);
  writeFileSync(join(DIFFERENCES, `${name}-difference.png`), PNG.sync.write(picture));
  return `${name}: ${(100 * share).toFixed(1)} % of it looks different; see web/tests/screenshots/${name}-difference.png`;
}

/** The share of squares that are different, and the page with those painted red. */
function difference(seen, expected) {
  const { width, height } = seen;
  const picture = new PNG({ width, height });
  seen.data.copy(picture.data);
  const [columns, rows] = [Math.ceil(width / SQUARE), Math.ceil(height / SQUARE)];
  let different = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const [was, is] = [meanColour(expected, column, row), meanColour(seen, column, row)];
      if (is.every((channel, index) => Math.abs(channel - was[index]) < COLOUR_DIFFERENT)) continue;
      different += 1;
      eachPixel(picture, column, row, (at) => picture.data.set([255, 0, 0], at));
    }
  }
  return { share: different / (columns * rows), picture };
}

function meanColour(image, column, row) {
  const sums = [0, 0, 0];
  let count = 0;
  eachPixel(image, column, row, (at) => {
    count += 1;
    for (let channel = 0; channel < 3; channel += 1) sums[channel] += image.data[at + channel];
  });
  return sums.map((sum) => sum / count);
}

function eachPixel({ width, height }, column, row, visit) {
  for (let y = row * SQUARE; y < Math.min((row + 1) * SQUARE, height); y += 1) {
    for (let x = column * SQUARE; x < Math.min((column + 1) * SQUARE, width); x += 1) visit((y * width + x) * 4);
  }
}
