import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { imageIn } from '../../src/table/display/image';
import { hashOf } from '../../src/table/display/imageAddress';
import { fitted, thumbnailBox } from '../../src/table/grid/drawThumbnail';

const IMAGE = 'https://a.example/b';

// The same cases as in `crates/model/src/cell_image.rs`: page and service must agree.
test.each<[string, Json, string | undefined]>([
  ['Website', 'https://a.example/b.png', 'https://a.example/b.png'],
  ['Website', ' HTTPS://a.example/B.JPEG?w=1#x ', 'HTTPS://a.example/B.JPEG?w=1#x'],
  ['Website', 'www.a.example/b.webp', 'https://www.a.example/b.webp'],
  ['Website', 'https://a.example/b', undefined],
  ['Website', 'https://a.example/b.svg', undefined],
  ['Website', 'https://a.ico', undefined],
  ['Website', 'ftp://a.example/b.png', undefined],
  ['Website', 'see https://a.example/b.png', undefined],
  ['Logo', IMAGE, IMAGE],
  ['Company logo URL', IMAGE, IMAGE],
  ['Logotherapy', IMAGE, undefined],
  ['Logo', 'a.example', undefined],
  ['Logo', 7, undefined],
  ['Logo', null, undefined],
  ['Any', 'data:image/png;base64,AAAA', 'data:image/png;base64,AAAA'],
  ['Any', 'data:image/svg+xml,<svg/>', undefined],
  ['Page', { url: 'https://a.example', logo: IMAGE }, IMAGE],
  ['Page', { metadata: { logoUrl: IMAGE } }, IMAGE],
  ['Page', { image: { alt: 'A', url: IMAGE } }, IMAGE],
  ['Page', { images: [{ src: IMAGE }] }, IMAGE],
  ['Page', [{ name: 'A' }, { avatar_url: IMAGE }], IMAGE],
  ['Page', `{"logo": "${IMAGE}"}`, IMAGE],
  ['Page', ['https://a.example/c.png'], 'https://a.example/c.png'],
  ['Page', { links: ['https://a.example/c.png'], metadata: { logo: IMAGE } }, IMAGE],
  ['Page', { url: IMAGE }, undefined],
  ['Page', { a: { b: { c: { logo: IMAGE } } } }, undefined],
  ['Page', { logo: null, links: ['https://a.example'] }, undefined],
  ['Page', '{broken', undefined],
])('%s %j shows %s', (header, value, expected) => {
  expect(imageIn(header, value)).toBe(expected);
  expect(imageIn(header, value)).toBe(expected);
});

test('another image has another address', () => {
  expect(hashOf('a')).toMatch(/^[0-9a-f]{16}$/);
  expect(hashOf('a')).not.toBe(hashOf('b'));
  expect(hashOf('x'.repeat(9_000))).not.toBe(hashOf('x'.repeat(9_001)));
});

test('an image is whole, in its box, and no larger than it is', () => {
  const theme = { cellHorizontalPadding: 8 } as Parameters<typeof thumbnailBox>[0]['theme'];
  const box = thumbnailBox({ rect: { x: 100, y: 0, width: 200, height: 33 }, theme });
  expect(box).toEqual({ x: 108, y: 4, width: 35, height: 25 });
  expect(fitted(box, 256, 128)).toEqual({ x: 108, y: 7.75, width: 35, height: 17.5 });
  expect(fitted(box, 10, 10)).toEqual({ x: 120.5, y: 11.5, width: 10, height: 10 });
  expect(thumbnailBox({ rect: { x: 0, y: 0, width: 40, height: 33 }, theme }).width).toBe(24);
});
