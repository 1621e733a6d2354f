// Every page on a wide screen, and the size of what the first page loads.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { everyPage } from './everypage.mjs';
import { launch, open, signIn } from './harness.mjs';

everyPage(1280, ['light', 'dark']);

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('what a browser loads for the first page is small', async () => {
  const { page, end } = await open(browser);
  const loaded = [];
  page.on('requestfinished', (r) => /\.(js|css)$/.test(new URL(r.url()).pathname) && loaded.push(r.sizes()));
  await signIn(page, 'ann');
  await page.waitForTimeout(1000); // the last requests
  const bytes = (await Promise.all(loaded)).reduce((sum, s) => sum + s.responseBodySize, 0);
  assert.ok(bytes > 50_000 && bytes <= 250 * 1024, `${bytes} bytes of scripts and styles, packed`);
  await end();
});
