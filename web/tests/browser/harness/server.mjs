// Starts the real service on a free port with its own data folder, and stops it by process id.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFront } from './front.mjs';

export async function startServer(environment = {}) {
  const binary = process.env.ROWMILL_BIN;
  if (!binary) throw new Error('Set ROWMILL_BIN to the rowmill binary to test.');
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-browser-'));
  const port = await freePort();
  const child = spawn(binary, ['serve', '--listen', `127.0.0.1:${port}`, '--data-dir', folder, '--allow-private', '127.0.0.1/32', '--trusted-proxies', '127.0.0.1'], {
    env: { ...process.env, ROWMILL_RATE_LIMIT_AUTH_FAILURES: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const { key, link } = await firstWords(child);
  const own = `http://127.0.0.1:${port}`;
  // A folder with the built page replaces the page in the binary.
  const front = process.env.ROWMILL_WEB_DIST ? await startFront(process.env.ROWMILL_WEB_DIST, own) : undefined;
  const url = front?.url ?? own;
  return {
    url,
    key,
    link: link.replace(own, url),
    api: (method, path, body) => call(own, key, method, path, body),
    async stop() {
      front?.close();
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Reads the key and the sign-in link that the first start prints. */
function firstWords(child) {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk) => {
      text += chunk;
      const key = /\brm_[0-9a-f_]+/.exec(text)?.[0];
      const link = /http\S+\/signin\/\S+/.exec(text)?.[0];
      if (key && link && text.includes('/docs')) resolve({ key, link });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}: ${text}`)));
  });
}

async function call(base, key, method, path, body) {
  const response = await fetch(`${base}/v4${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, ...(body && { 'Content-Type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
