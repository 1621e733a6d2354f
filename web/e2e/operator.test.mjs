// The pages show the state of the appliance, as the command line does.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before } from 'node:test';
import { base, button, farm, freePort, launch, offline, settle, signedIn, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const task = signedIn(() => browser);

/** Calls the API as the user who is signed in on the page. */
const api = (page, method, path, data) => page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data });

/** Changes the comment of the farm on trial, with a guard as its condition. */
async function guarded(page, comment, guard) {
  await visit(page, 'farms/shop/settings');
  await page.getByLabel('Comment').fill(comment);
  await button(page, 'Save…').click();
  const dialog = page.getByRole('dialog', { name: 'Settings of shop' });
  await dialog.getByRole('combobox', { name: 'Activation' }).click();
  await page.getByRole('option', { name: 'Revert automatically if health conditions fail' }).click();
  await dialog.getByLabel('Conditions').fill(guard);
  await settle(page, 'Settings of shop');
}

task('a guarded change says that it is kept, and a violated guard is shown until it is read', async (page) => {
  await guarded(page, 'too much', 'backends_up>=3,1m');
  const bar = page.getByRole('status').filter({ hasText: 'is on trial under health conditions' });
  await bar.getByText(/It is kept in [0-9]+ seconds\. If a condition fails before then, it is reverted immediately/).waitFor();
  await bar.getByText('Conditions: backends_up>=3').waitFor();
  assert.equal(await page.getByText(/goes back by itself|unless you confirm/).count(), 0);
  const said = page.getByRole('alert').filter({ hasText: 'was reverted: a condition failed' });
  await said.getByText('backends_up 2 of farm shop is not backends_up>=3').waitFor();
  await visit(page, 'farms'); // the notice stays until it is dismissed
  await said.getByRole('button', { name: 'Close' }).click();
  await said.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
  await page.waitForLoadState('networkidle').catch(() => undefined);
  assert.equal(await said.count(), 0);
});

task('a guarded change that goes well is kept', async (page) => {
  await guarded(page, 'all is well', 'backends_up>=1,10s');
  const bar = page.getByRole('status').filter({ hasText: 'is on trial under health conditions' });
  await bar.getByText(/backends_up 2 of farm shop/).waitFor();
  await bar.waitFor({ state: 'detached' });
  assert.equal((await (await api(page, 'GET', '/farms/shop')).json()).params.comment, 'all is well');
});

task('Live names the decision, and what happened in words', async (page) => {
  await visit(page, 'farms/shop/trace');
  await button(page, 'Watch').click();
  await page.getByText('Waiting for requests…').waitFor();
  const row = page.getByRole('row').filter({ hasText: '/decided' }).first();
  for (let i = 0; i < 40 && (await row.count()) === 0; i++) {
    await fetch(`${farm}decided`);
    await page.waitForTimeout(250);
  }
  const cells = await row.getByRole('cell').allInnerTexts();
  assert.equal(cells[6], 'algorithm');
  assert.match(cells[7], /^(reused)?$/);
});

task('Live says that the appliance refuses a filter', async (page) => {
  await visit(page, 'farms/shop/trace');
  await page.getByLabel('Client').fill('nobody at all');
  await button(page, 'Watch').click();
  await page.getByRole('alert').filter({ hasText: 'Check the filters' }).waitFor();
  await button(page, 'Watch').waitFor(); // the stream has ended
});

task('the timeline names service and backend', async (page) => {
  const set = (action) => api(page, 'PUT', '/farms/shop/services/all/backends/0/maintenance', { action, mode: 'cut' });
  assert.ok((await set('maintenance')).ok());
  assert.ok((await set('up')).ok());
  for (const path of ['timeline', 'farms/shop', '']) {
    await visit(page, path);
    await page.locator('.entry').filter({ hasText: 'maintenance' }).filter({ hasText: /all \/ 0 \(127\.0\.0\.1:[0-9]+\)/ }).first().waitFor();
  }
});

task('an explanation is for a client, and shows every candidate', async (page) => {
  await visit(page, 'farms/shop');
  const card = page.getByRole('region', { name: 'How would a request be routed?' });
  await card.getByLabel('Client address').fill('10.1.2.3');
  await card.getByRole('button', { name: 'Explain' }).click();
  await card.getByText('X-Forwarded-For: 10.1.2.3').waitFor();
  const candidates = card.getByRole('table');
  await candidates.getByRole('row', { name: /blue/ }).waitFor();
  await candidates.getByRole('row', { name: /grass/ }).waitFor();
  assert.equal(await candidates.getByText('✓', { exact: true }).count(), 1);
  await card.getByLabel('Client address').fill('no address');
  await card.getByRole('button', { name: 'Explain' }).click();
  await card.getByRole('alert').getByText(/no address/).waitFor();
});

task('a farm that somebody stopped is not down', async (page) => {
  assert.ok((await api(page, 'PUT', '/farms/shop/actions', { action: 'stop' })).ok());
  await visit(page, 'farms');
  await page.getByRole('row', { name: /shop/ }).getByText('stopped', { exact: true }).waitFor();
  await visit(page, 'farms/shop');
  await page.getByRole('heading', { level: 1, name: 'shop' }).locator('..').getByText('stopped', { exact: true }).waitFor();
  await visit(page, '');
  await page.getByRole('link', { name: /shop/ }).getByRole('img', { name: 'stopped' }).waitFor();
  await page.getByText('All started farms are up.').waitFor();
  assert.ok((await api(page, 'PUT', '/farms/shop/actions', { action: 'start' })).ok());
  await page.getByRole('link', { name: /shop/ }).getByRole('img', { name: 'up' }).waitFor();
});

task('New farm says that a port is taken, whoever has it', async (page) => {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await visit(page, 'new-farm');
    await page.locator('[name=farmname]').fill('taken');
    await page.locator('[name=vip]').fill('127.0.0.1');
    await page.locator('[name=vport]').fill(String(server.address().port));
    await page.locator('[name=backends]').focus();
    await page.getByRole('alert').getByText(/another program uses this address and port already/).waitFor();
    assert.equal(await page.getByText('no program listens there').count(), 0);
    await page.locator('[name=vport]').fill(await freePort());
    await page.locator('[name=backends]').focus();
    await page.getByText('no program listens there').waitFor();
    await page.locator('[name=vport]').fill('1'); // this port has not been checked yet
    await page.getByText('no program listens there').waitFor({ state: 'detached' });
  } finally {
    server.close();
  }
});

task('a new service is placed before the one that takes every request', async (page) => {
  await visit(page, 'farms/shop/services');
  await button(page, 'Add a service').click();
  const dialog = page.getByRole('dialog', { name: 'Add a service' });
  await dialog.getByText('Service all matches every request.').waitFor();
  await dialog.locator('[name=id]').fill('api');
  await dialog.locator('[name=urlp]').fill('^/api');
  await dialog.getByRole('button', { name: 'Create…' }).click();
  await settle(page, 'Create service api');
  await page.getByRole('region', { name: 'api' }).waitFor();
  assert.deepEqual(await page.getByRole('main').getByRole('heading', { level: 2 }).allInnerTexts(), ['api', 'all']);
  assert.ok((await api(page, 'DELETE', '/farms/shop/services/api')).ok());
});

task('the timeline and the history go back page by page', async (page) => {
  const sent = (n) => api(page, 'PUT', '/farms/shop', { comment: `change ${n}` });
  for (let n = 0; n < 205; n++) assert.ok((await sent(n)).ok());
  await visit(page, 'timeline');
  assert.match(await page.locator('.entry').first().innerText(), /./);
  await page.getByText('200 of', { exact: false }).waitFor();
  await button(page, 'Older').click();
  await page.waitForFunction(() => document.querySelectorAll('.entry').length > 200);
  await button(page, 'Older').waitFor({ state: 'detached' });
  await visit(page, 'history');
  // By keyboard, because the button moves while rows are measured, and a click would miss it.
  await button(page, 'Older revisions').press('Enter');
  await page.locator('table[aria-rowcount="201"]').waitFor();
  await button(page, 'Older revisions').press('Enter');
  await button(page, 'Older revisions').waitFor({ state: 'detached' });
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await page.getByRole('row').filter({ has: page.getByRole('cell', { name: '1', exact: true }) }).first().waitFor();
});

task('the focus moves into a dialog, and back to where it came from', async (page) => {
  const inside = () => page.evaluate(() => document.activeElement?.closest('[role=dialog]') !== null && document.activeElement !== null);
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  const until = async (is) => {
    for (let i = 0; i < 60 && !(await is()); i++) await page.waitForTimeout(100);
    assert.ok(await is(), `the focus is on ${await focused()}`);
  };
  await visit(page, 'farms/shop');
  await button(page, 'Stop').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Stop shop' }).getByText('all its traffic is interrupted').waitFor();
  await until(inside);
  await page.keyboard.press('Escape');
  await until(async () => (await focused()) === 'Stop');
  const row = page.getByRole('row', { name: /blue/ }).first();
  await row.getByRole('button', { name: 'Maintenance…' }).focus(); // a menu returns the focus to its button
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: /Drain/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /blue/ }).waitFor();
  await until(inside);
  await page.keyboard.press('Escape');
  await until(async () => (await focused()) === 'Maintenance…');
});

task('the first key leads past the menu to the content', async (page) => {
  await visit(page, 'farms');
  await page.keyboard.press('Tab');
  await page.getByRole('link', { name: 'Skip to the content' }).waitFor();
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');
});

task('responses 5xx of a backend count as failures', async (page) => {
  const counted = async () => {
    const { farm: f, backends } = await (await api(page, 'GET', '/stats/farms/shop')).json();
    return [f.counters.responses['5xx'], ...backends.map((b) => b.counters.responses['5xx'])].join(' ');
  };
  await visit(page, 'farms/shop');
  const table = page.getByRole('region', { name: 'Backends' }).getByRole('table');
  const head = (await table.getByRole('columnheader').allInnerTexts()).indexOf('Failures');
  const shown = async () => Number(await table.getByRole('row', { name: /blue/ }).getByRole('cell').nth(head).innerText());
  const before = await shown();
  await page.route('**/api/v4.0/stats/farms/shop', async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    for (const b of json.backends) b.counters.responses['5xx'] += 7;
    await route.fulfill({ response, json });
  });
  assert.ok(await counted());
  await page.waitForResponse(/stats\/farms\/shop$/);
  for (let i = 0; i < 40 && (await shown()) !== before + 7; i++) await page.waitForTimeout(250);
  assert.equal(await shown(), before + 7);
});

task(
  'a page that loses the appliance says so, and of when its numbers are',
  async (page) => {
    await visit(page, 'farms');
    await page.context().setOffline(true);
    const said = page.getByRole('alert').filter({ hasText: 'The pages show the state of' });
    await said.waitFor();
    await page.context().setOffline(false);
    await said.waitFor({ state: 'detached' });
  },
  'ann',
  { meant: [offline] },
);
