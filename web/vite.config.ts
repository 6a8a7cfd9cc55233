import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const LAZY_EDITOR =
  /const DataGridOverlayEditor = React\.lazy\(async \(\) => await import\(("[^"]+")\)\);/;

/**
 * Bundles the grid's cell editor with the grid. The grid would load it on first use, and text typed until then would be
 * lost.
 */
const eagerEditor: Plugin = {
  name: 'eager-editor',
  apply: 'build',
  transform(code, id) {
    if (!id.endsWith('glide-data-grid/dist/esm/data-editor/data-editor.js')) return undefined;
    if (!LAZY_EDITOR.test(code)) return this.error('The grid no longer loads its editor the way this build expects.');
    return { code: code.replace(LAZY_EDITOR, 'import DataGridOverlayEditor from $1;'), map: null };
  },
};

// URLs are relative, because the server writes its path prefix into <base>.
export default defineConfig({
  base: './',
  plugins: [react(), eagerEditor],
  build: {
    target: 'es2022',
    // The style sheets use `light-dark()`, which these browsers support.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
  },
  // Without `css`, tests would read style sheets as empty.
  test: { include: ['tests/unit/**/*.test.ts'], css: true },
});
