/// <reference types="vitest/config" />
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
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

/** Where a Sluice answers while pages are under development: `npm run dev`. */
const appliance = process.env.SLUICE_URL ?? 'https://127.0.0.1:4444';

export default defineConfig({
  base: '/gui/',
  plugins: [react(), packed()],
  build: { target: 'es2022', chunkSizeWarningLimit: 700, modulePreload: { polyfill: false } },
  server: { proxy: { '/api': { target: appliance, secure: false } } },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
