// Proxy that serves the built page from a folder and forwards the rest to a running service. With it, a change to the
// page needs no new binary.
import { createReadStream, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { extname, join, normalize } from 'node:path';

const SERVICE = /^\/(v[234]|session|signin|docs|openapi\.json|healthz|readyz|metrics|webhooks|hooks)(\/|$|\?)/;
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.html': 'text/html; charset=utf-8' };
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'self'; object-src 'none'; frame-ancestors 'none'";

export async function startFront(dist, target, port = 0) {
  const server = http.createServer((request, response) => {
    if (SERVICE.test(request.url)) return pass(request, response, target);
    const path = join(dist, normalize(decodeURIComponent(request.url.split('?')[0])));
    response.setHeader('Content-Security-Policy', POLICY);
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) {
      response.setHeader('Content-Type', TYPES[extname(path)] ?? 'application/octet-stream');
      return createReadStream(path).pipe(response);
    }
    response.setHeader('Content-Type', TYPES['.html']);
    const page = readFileSync(join(dist, 'index.html'), 'utf8');
    response.end(page.replace(/<base [^>]*>/, `<base href="${request.headers['x-forwarded-prefix'] ?? ''}/">`));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() ?? server.close() };
}

function pass(request, response, target) {
  const { hostname, port } = new URL(target);
  const onward = http.request({ hostname, port, path: request.url, method: request.method, headers: request.headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
