// Preloaded into the conformance suite and the inspector, which cannot send a key by themselves.
'use strict';
const http = require('node:http');
const { createRequire, syncBuiltinESMExports } = require('node:module');

const authorization = `Bearer ${process.env.ROWMILL_MCP_KEY}`;

const { fetch: plainFetch } = globalThis;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  if (!headers.has('authorization')) headers.set('authorization', authorization);
  return plainFetch(input, { ...init, headers });
};

const { request: plainRequest } = http;
http.request = (...parts) => {
  const request = plainRequest(...parts);
  if (!request.headersSent && !request.hasHeader('authorization')) request.setHeader('authorization', authorization);
  return request;
};
syncBuiltinESMExports();

// The suite's own copy of undici, in the folder it is installed in.
const undici = createRequire(`${process.cwd()}/package.json`)('undici');
const { request: undiciRequest } = undici;
undici.request = (url, options = {}) => undiciRequest(url, { ...options, headers: { authorization, ...options.headers } });
