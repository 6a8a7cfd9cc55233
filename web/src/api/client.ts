import createClient, { type Middleware } from 'openapi-fetch';
import { prefix } from './base';
import { type ApiError, toApiError, unreachable } from './error';
import type { paths } from '../../generated/schema';
import { parseJson, stringifyJson } from './exactNumber';

const plainClient = createClient<paths>({
  baseUrl: prefix,
  querySerializer: { array: { style: 'form', explode: false } },
  bodySerializer: stringifyJson,
});

/** Every documented operation, typed by openapi.json. */
export const client = withExactNumbers(plainClient);

type Listener = (error: ApiError) => void;
let onSignedOut: Listener = () => {};

/** Sets the function to call when a request is answered with 401. */
export function setSignedOutListener(listener: Listener): void {
  onSignedOut = listener;
}

const failures: Middleware = {
  onError: () => unreachable(),
  onResponse: async ({ response }) => {
    if (!response.ok) throw await failure(response);
  },
};
plainClient.use(failures);

type Call = (path: string, options?: object) => Promise<{ data?: string }>;

/** The same client, but responses are parsed here: openapi-fetch would round long numbers. */
function withExactNumbers(plain: typeof plainClient): typeof plainClient {
  return new Proxy(plain, {
    get: (_, method) => async (path: string, options?: object) => {
      const call = Reflect.get(plain, method) as Call;
      const answer = await call(path, { ...options, parseAs: 'text' });
      return { ...answer, data: answer.data ? parseJson(answer.data) : undefined };
    },
  });
}

/** The body of a response. Failed requests have thrown already. */
export async function data<T>(call: Promise<{ data?: T }>): Promise<T> {
  const answer = await call;
  return answer.data as T;
}

/** Calls an operation that openapi.json does not describe. */
export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(prefix + path, {
    method,
    ...(body !== undefined && { body: stringifyJson(body), headers: { 'Content-Type': 'application/json' } }),
  });
  return response.status === 204 ? (undefined as T) : (parseJson(await response.text()) as T);
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch {
    throw unreachable();
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.text().then(parseJson).catch(() => undefined);
  const error = toApiError(response.status, body);
  if (response.status === 401) onSignedOut(error);
  return error;
}
