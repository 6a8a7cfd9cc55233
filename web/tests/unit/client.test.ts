import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ExactNumber } from '../../src/api/exactNumber';

const LARGE = '9007199254740993';
const URL_START = 'http://page.example/';
let sent: { url: string; body: string }[] = [];
let answer: () => Response;

beforeEach(() => {
  sent = [];
});

beforeAll(() => {
  vi.stubGlobal('document', { baseURI: URL_START });
  const withBase = class extends Request {
    constructor(url: string, options?: RequestInit) {
      super(new URL(url, URL_START), options);
    }
  };
  vi.stubGlobal('Request', withBase);
  vi.stubGlobal('fetch', async (input: Request | string, options?: RequestInit) => {
    const request = new withBase(typeof input === 'string' ? input : input.url, typeof input === 'string' ? options : undefined);
    sent.push({ url: request.url, body: await (typeof input === 'string' ? request : input).text() });
    return answer();
  });
});
afterAll(() => vi.unstubAllGlobals());

/** Only now, because it reads the page's address and `fetch` when it is loaded. */
const load = () => import('../../src/api/client');
const params = { path: { projectId: 'p', rowId: 'r' } };

test.each<[string, Record<string, string>]>([
  ['with a length', { 'Content-Length': '99' }],
  ['without a length, as when it is compressed', {}],
])('a response %s keeps its numbers', async (_, headers) => {
  const { client, data } = await load();
  answer = () => new Response(`{"row":{"cells":{"a":${LARGE}}},"total":5}`, { headers });
  const { row, total } = (await data(client.GET('/v4/projects/{projectId}/rows/{rowId}', { params }))) as unknown as { row: { cells: { a: unknown } }; total: number };
  expect([String(row.cells.a), total]).toEqual([LARGE, 5]);
});

test('a request keeps them, too', async () => {
  const { client, data, request } = await load();
  answer = () => new Response(`{"n":${LARGE}}`);
  const value = new ExactNumber(LARGE);
  await data(client.PATCH('/v4/projects/{projectId}/cells', { params: { path: { projectId: 'p' } }, body: { cells: [{ rowId: 'r', columnId: 'a', value }] } }));
  const { n } = await request<{ n: unknown }>('POST', '/elsewhere', { value });
  expect(sent.map(({ body }) => body)).toEqual([`{"cells":[{"rowId":"r","columnId":"a","value":${LARGE}}]}`, `{"value":${LARGE}}`]);
  expect(String(n)).toBe(LARGE);
});

test('a response without a body has no data, and a refusal is an error', async () => {
  const { client, data } = await load();
  answer = () => new Response(null, { status: 204 });
  expect(await data(client.DELETE('/v4/sessions'))).toBe(undefined);
  answer = () => new Response('{"error":"There is no such row.","code":"not_found"}', { status: 404 });
  await expect(data(client.GET('/v4/projects/{projectId}/rows/{rowId}', { params }))).rejects.toThrow('There is no such row.');
  answer = () => new Response('<html>', { status: 502 });
  await expect(data(client.GET('/v4/projects/{projectId}/rows/{rowId}', { params }))).rejects.toThrow('status 502');
});
