import { expect, test } from 'vitest';
import { browserName } from '../../src/settings/browserName';
import { formatBytes } from '../../src/ui/format';

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 Edg/130.0', 'Edge on Windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.0 Safari/605.1', 'Safari on macOS'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 CriOS/130.0 Mobile Safari/604.1', 'Chrome on iOS'],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['', 'Unknown browser'],
])('%s', (userAgent, expected) => expect(browserName(userAgent)).toBe(expected));

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1 kB'],
  [1_234_567, '1.23 MB'],
  [5e15, '5,000 TB'],
])('%d bytes', (bytes, expected) => expect(formatBytes(bytes)).toBe(expected));
