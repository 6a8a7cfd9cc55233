import { defineConfig, mergeConfig } from 'vite';
import base from './vite.config';

const server = process.env.ROWMILL_URL ?? 'http://127.0.0.1:8080';

// Vite serves the page and forwards everything else to a running service. The service checks the Origin of writes, so
// it must be the service's own.
export default mergeConfig(
  base,
  defineConfig({
    base: '/',
    server: {
      proxy: Object.fromEntries(
        ['/v4', '/session', '/signin/', '/docs', '/openapi.json'].map((path) => [
          path,
          { target: server, changeOrigin: true, headers: { origin: server } },
        ]),
      ),
    },
  }),
);
