// Every page on a telephone, in the language with the longest texts. The colours are those of wide screens, so the dark
// theme is needed only for screenshots.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { everyPage } from './everypage.mjs';
import { launch, open, picture, signIn, visit } from './harness.mjs';

everyPage(390, process.env.GUI_SHOTS ? ['light', 'dark'] : ['light'], 'fr');

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('the head of a page fits on a telephone in every language', async () => {
  const { page, end } = await open(browser, { viewport: { width: 360, height: 700 } });
  await signIn(page, 'ann');
  for (const language of ['en', 'es', 'de', 'fr']) {
    await page.evaluate((code) => localStorage.setItem('sluice.language', code), language);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await picture(page, `head-${language}-360`);
    const beyond = await page.evaluate(() => [...document.querySelectorAll('header button')].filter((b) => b.offsetWidth > 0 && b.getBoundingClientRect().right > innerWidth).map((b) => b.textContent));
    assert.deepEqual(beyond, [], language);
    assert.equal(await page.evaluate(() => document.documentElement.lang), language);
  }
  await page.setViewportSize({ width: 320, height: 700 });
  await visit(page, 'new-farm');
  assert.ok(await page.locator('.mantine-SegmentedControl-root').evaluate((e) => e.scrollWidth <= e.clientWidth), 'the kinds of a farm are cut off');
  await end();
});
