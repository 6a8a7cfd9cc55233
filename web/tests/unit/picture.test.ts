import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { pictureIn } from '../../src/table/display/picture';
import { hashOf } from '../../src/table/display/pictureAddress';
import { fitted, pictureBox } from '../../src/table/grid/drawPicture';

const PICTURE = 'https://a.example/b';

// The same cases as in `crates/model/src/picture.rs`: page and service must agree.
test.each<[string, Json, string | undefined]>([
  ['Website', 'https://a.example/b.png', 'https://a.example/b.png'],
  ['Website', ' HTTPS://a.example/B.JPEG?w=1#x ', 'HTTPS://a.example/B.JPEG?w=1#x'],
  ['Website', 'www.a.example/b.webp', 'https://www.a.example/b.webp'],
  ['Website', 'https://a.example/b', undefined],
  ['Website', 'https://a.example/b.svg', undefined],
  ['Website', 'https://a.ico', undefined],
  ['Website', 'ftp://a.example/b.png', undefined],
  ['Website', 'see https://a.example/b.png', undefined],
  ['Logo', PICTURE, PICTURE],
  ['Company logo URL', PICTURE, PICTURE],
  ['Logotherapy', PICTURE, undefined],
  ['Logo', 'a.example', undefined],
  ['Logo', 7, undefined],
  ['Logo', null, undefined],
  ['Any', 'data:image/png;base64,AAAA', 'data:image/png;base64,AAAA'],
  ['Any', 'data:image/svg+xml,<svg/>', undefined],
  ['Page', { url: 'https://a.example', logo: PICTURE }, PICTURE],
  ['Page', { metadata: { logoUrl: PICTURE } }, PICTURE],
  ['Page', { image: { alt: 'A', url: PICTURE } }, PICTURE],
  ['Page', { images: [{ src: PICTURE }] }, PICTURE],
  ['Page', [{ name: 'A' }, { avatar_url: PICTURE }], PICTURE],
  ['Page', `{"logo": "${PICTURE}"}`, PICTURE],
  ['Page', ['https://a.example/c.png'], 'https://a.example/c.png'],
  ['Page', { links: ['https://a.example/c.png'], metadata: { logo: PICTURE } }, PICTURE],
  ['Page', { url: PICTURE }, undefined],
  ['Page', { a: { b: { c: { logo: PICTURE } } } }, undefined],
  ['Page', { logo: null, links: ['https://a.example'] }, undefined],
  ['Page', '{broken', undefined],
])('%s %j shows %s', (header, value, expected) => {
  expect(pictureIn(header, value)).toBe(expected);
  expect(pictureIn(header, value)).toBe(expected);
});

test('another picture has another address', () => {
  expect(hashOf('a')).toMatch(/^[0-9a-f]{16}$/);
  expect(hashOf('a')).not.toBe(hashOf('b'));
  expect(hashOf('x'.repeat(9_000))).not.toBe(hashOf('x'.repeat(9_001)));
});

test('a picture is whole, in its box, and no larger than it is', () => {
  const theme = { cellHorizontalPadding: 8 } as Parameters<typeof pictureBox>[0]['theme'];
  const box = pictureBox({ rect: { x: 100, y: 0, width: 200, height: 33 }, theme });
  expect(box).toEqual({ x: 108, y: 4, width: 35, height: 25 });
  expect(fitted(box, 256, 128)).toEqual({ x: 108, y: 7.75, width: 35, height: 17.5 });
  expect(fitted(box, 10, 10)).toEqual({ x: 120.5, y: 11.5, width: 10, height: 10 });
  expect(pictureBox({ rect: { x: 0, y: 0, width: 40, height: 33 }, theme }).width).toBe(24);
});
