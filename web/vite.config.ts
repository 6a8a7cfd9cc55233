import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// Addresses in the page are relative: the server puts the path prefix it is reached under into <base>.
export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
  },
  test: { include: ['tests/unit/**/*.test.ts'] },
});
