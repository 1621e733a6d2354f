/// <reference types="vitest/config" />
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import pluginReact from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Writes FILE.gz beside each file, so that files are not compressed per request. */
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

/** The maximum size of a file in kilobytes. Parts that are not needed at once belong in separate files. */
const largest = 500;

/**
 * Fails the build if a file is too large. Vite only warns, and all users who build the program would see the warning.
 */
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

/** React has its own file. It changes less often than the pages, so browsers can keep it after an update. */
const react = (id: string) => (/node_modules\/(react|react-dom|scheduler)\//.test(id) ? 'react' : undefined);

/** The Sluice instance for development of the pages: `npm run dev`. */
const appliance = process.env.SLUICE_URL ?? 'https://127.0.0.1:4444';

export default defineConfig({
  base: '/gui/',
  plugins: [pluginReact(), bounded(), packed()],
  build: { target: 'es2022', chunkSizeWarningLimit: largest, cssCodeSplit: false, modulePreload: { polyfill: false }, rollupOptions: { output: { manualChunks: react } } },
  server: { proxy: { '/api': { target: appliance, secure: false } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
