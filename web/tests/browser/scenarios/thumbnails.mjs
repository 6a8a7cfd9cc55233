// Cells that name an image show it as a thumbnail, which the service fetches: the browser asks nobody else.
import assert from 'node:assert/strict';
import http from 'node:http';
import zlib from 'node:zlib';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

const COLORS = [
  [224, 49, 49],
  [47, 158, 68],
  [25, 113, 194],
  [240, 140, 0],
];
const ROWS = 12;

export default async function thumbnails({ server, page, complaints }) {
  const images = await startImages();
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  try {
    const headers = ['Company', 'Logo', 'Website', 'Page', 'Inside'];
    const { project } = await server.api('POST', '/projects', { title: 'Images', columns: headers.map((header) => ({ templateId: 'manual', header })) });
    const rows = Array.from({ length: ROWS }, (_, row) => ({
      Company: `Company ${row}`,
      Logo: `${images.url}/logo/${row}`,
      Website: row === 0 ? `${images.url}/broken.png` : `https://company${row}.example/about`,
      Page: { title: `Page ${row}`, url: 'https://company.example', metadata: { logo: `${images.url}/logo/${row + 1}` } },
      Inside: `data:image/png;base64,${pngOf(COLORS[row % 4], 32).toString('base64')}`,
    }));
    await server.api('POST', `/projects/${project.id}/rows`, rows);
    const grid = gridOf(page);
    await signIn(page, server);
    await openTable(page, server, project.id);
    await grid.reads(0, 1, 'Company 0');

    // Columns: the input, Company, Logo, Website, Page, Inside.
    for (const [row, column, color] of [
      [0, 2, COLORS[0]],
      [1, 2, COLORS[1]],
      [0, 4, COLORS[1]],
      [2, 5, COLORS[2]],
    ]) {
      await until(`the image in row ${row}, column ${column}`, async () => isNear(await colorAt(page, row, column), color));
    }
    // An image that cannot be shown leaves the address as it is.
    const found = await colorAt(page, 0, 3);
    assert.ok(!COLORS.some((color) => isNear(found, color)), `${found}`);
    assert.deepEqual(complaints.splice(0), ['Failed to load resource: the server responded with a status of 404 (Not Found)']);
    await shot(page, 'images');

    // What is drawn again is not fetched again.
    const count = images.asked.length;
    await page.reload();
    await grid.reads(0, 1, 'Company 0');
    await until('the image after a reload', async () => isNear(await colorAt(page, 0, 2), COLORS[0]));
    assert.equal(images.asked.length, count);
    complaints.splice(0);

    // Taller rows have larger images.
    await page.getByRole('button', { name: 'Row height' }).click();
    await page.getByRole('menuitemradio', { name: 'Tall', exact: true }).click();
    await page.waitForTimeout(300);
    await shot(page, 'images-tall');

    // Details show the image as well. Its alternative text names the column.
    await page.getByRole('button', { name: 'Row height' }).click();
    await page.getByRole('menuitemradio', { name: 'Short' }).click();
    await page.waitForTimeout(300);
    await grid.select(0, 2);
    await page.keyboard.press('Space');
    const image = page.getByRole('img', { name: 'Image in Logo' });
    await image.waitFor();
    assert.ok(await image.evaluate((element) => element.decode().then(() => element.naturalWidth > 0)));
    await shot(page, 'images-details');
    assert.deepEqual(await seriousFindings(page), []);
    assert.deepEqual(asked.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:') && !url.startsWith('blob:')), [], 'the browser asks only the service');
  } finally {
    images.stop();
  }
}

/** The colour in the middle of where a short row has its image. */
async function colorAt(page, row, column) {
  return page.evaluate(
    ([x, y]) => {
      const canvas = document.querySelector('[data-testid="data-grid-canvas"]');
      const scale = canvas.width / canvas.clientWidth;
      return [...canvas.getContext('2d').getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
    },
    [33 + column * 190 + 8 + 17, 36 + row * 33 + 16],
  );
}

function isNear(color, expected) {
  return color.every((part, place) => Math.abs(part - expected[place]) < 12);
}

async function startImages() {
  const asked = [];
  const server = http.createServer((request, response) => {
    asked.push(request.url);
    const logo = /^\/logo\/(\d+)$/.exec(request.url);
    response.setHeader('Content-Type', 'image/png');
    response.end(logo ? pngOf(COLORS[Number(logo[1]) % 4], 400) : 'no image');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    asked,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A PNG with a disc of one colour. */
function pngOf(color, side) {
  const middle = (side - 1) / 2;
  const lines = Array.from({ length: side }, (_, y) => [
    0,
    ...Array.from({ length: side }, (_, x) => [...color, Math.hypot(x - middle, y - middle) < side / 2 ? 255 : 0]).flat(),
  ]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  // Eight bits, with transparency.
  head.set([8, 6, 0, 0, 0], 8);
  const chunks = [
    ['IHDR', head],
    ['IDAT', zlib.deflateSync(Buffer.from(lines.flat()))],
    ['IEND', Buffer.alloc(0)],
  ].map(([name, data]) => {
    const named = Buffer.concat([Buffer.from(name), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(zlib.crc32(named));
    return Buffer.concat([length, named, sum]);
  });
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), ...chunks]);
}
