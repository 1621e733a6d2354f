/// <reference types="vitest/config" />
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import pluginReact from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Puts FILE.gz beside each file, so that nobody packs while somebody waits. */
function packed(): Plugin {
  return {
    name: 'packed',
    apply: 'build',
    closeBundle() {
      const folder = 'dist/assets';
      for (const name of readdirSync(folder)) {
        if (!/\.(js|css)$/.test(name)) continue;
        writeFileSync(join(folder, `${name}.gz`), gzipSync(readFileSync(join(folder, name)), { level: 9 }));
      }
      writeFileSync('dist/.keep', '');
    },
  };
}

/** No file may be larger, in kilobytes: parts that are not needed at once belong into files of their own. */
const largest = 500;

/** Fails a build of which a file is too large. Vite only warns, and each user who builds would read that. */
function bounded(): Plugin {
  return {
    name: 'bounded',
    apply: 'build',
    closeBundle() {
      const large = readdirSync('dist/assets').filter((name) => name.endsWith('.js') && statSync(join('dist/assets', name)).size > largest * 1000);
      if (large.length > 0) this.error(`more than ${largest} kB: ${large.join(', ')}`);
    },
  };
}

/** React is a file of its own: it changes less often than the pages, so browsers have it already after an update. */
const react = (id: string) => (/node_modules\/(react|react-dom|scheduler)\//.test(id) ? 'react' : undefined);

/** Where a Sluice answers while pages are under development: `npm run dev`. */
const appliance = process.env.SLUICE_URL ?? 'https://127.0.0.1:4444';

export default defineConfig({
  base: '/gui/',
  plugins: [pluginReact(), bounded(), packed()],
  build: { target: 'es2022', chunkSizeWarningLimit: largest, cssCodeSplit: false, modulePreload: { polyfill: false }, rollupOptions: { output: { manualChunks: react } } },
  server: { proxy: { '/api': { target: appliance, secure: false } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
