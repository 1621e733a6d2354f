// What the GUI does when something is not as it expects: time passes, parts of it fail, the
// network goes, others change or delete what is shown.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { apply, base, button, freePort, launch, settle, signedIn, signIn, tasks, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const task = signedIn(() => browser);
const stranger = tasks(() => browser);

/** Calls the API as the person who is signed in on a page. */
const api = (page, method, path, data) => page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data });

/** Has the API answer a path with something no appliance would. */
const broken = (page, path, body) => page.route(`**/api/v4.0${path}`, (route) => route.fulfill({ json: body }));

const failing = [/console: .*TypeError/, /script: .*TypeError/, /is not iterable|not a function|Cannot read|of null|of undefined/];

task('the offer to undo a change ends, and the page stays', async (page) => {
  await visit(page, 'farms/shop/settings');
  await page.getByLabel('Comment').fill('ten seconds pass');
  await button(page, 'Save…').click();
  await settle(page, 'Settings of shop');
  await page.getByRole('button', { name: /^Undo/ }).waitFor();
  await page.mouse.move(5, 400); // whoever points at the offer holds it
  await page.getByRole('button', { name: /^Undo/ }).waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'shop' }).waitFor();
  assert.equal(await page.getByLabel('Comment').inputValue(), 'ten seconds pass');
});

task(
  'a page that fails says so, and the way back is open',
  async (page) => {
    await broken(page, '/headroom', { params: 5 });
    await page.getByRole('link', { name: 'Head-room' }).click();
    const said = page.getByRole('alert').filter({ hasText: 'This part of the GUI failed' });
    await said.waitFor();
    await said.getByText(/TypeError/).waitFor();
    await page.unroute('**/api/v4.0/headroom');
    await page.getByRole('link', { name: 'Farms' }).click(); // the menu is still there
    await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
  },
  'ann',
  { meant: failing },
);

stranger(
  'a shell that fails says so, and is loaded again',
  async (page) => {
    await signIn(page, 'ann');
    await broken(page, '/system/info', { params: null });
    await page.reload();
    await page.getByRole('alert').getByText('This part of the GUI failed').waitFor();
    await page.unroute('**/api/v4.0/system/info');
    await button(page, 'Reload the page').click();
    await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  },
  { meant: failing },
);

task('an address without a page says so', async (page) => {
  await page.goto(`${base}nowhere`);
  await page.getByText('This page does not exist').waitFor();
  await page.getByRole('link', { name: 'Back to the dashboard' }).click();
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
});

task('a farm that a colleague deletes is not found, and the list is a click away', async (page) => {
  const port = Number(await freePort());
  assert.ok((await api(page, 'POST', '/farms', { farmname: 'brief', profile: 'http', vip: '127.0.0.1', vport: port })).ok());
  await visit(page, 'farms/brief');
  assert.ok((await api(page, 'DELETE', '/farms/brief')).ok());
  await page.getByRole('alert').filter({ hasText: 'Not found' }).waitFor();
  await page.getByRole('alert').getByRole('link', { name: 'Farms' }).click();
  await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
});

task(
  'a change without a network fails at once, and is not made later',
  async (page) => {
    await visit(page, 'farms/shop');
    await button(page, 'Restart').click();
    await page.getByRole('dialog', { name: 'Restart shop' }).getByText('all its traffic is interrupted').waitFor();
    await page.context().setOffline(true);
    await apply(page, 'Restart shop');
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'The appliance does not answer' }).waitFor();
    const sent = [];
    page.on('request', (r) => r.method() !== 'GET' && sent.push(r.url()));
    await page.context().setOffline(false);
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: /blue/ }).first().waitFor();
    await page.waitForTimeout(3000); // by then a change that was held back would have gone
    assert.deepEqual(sent, []);
  },
  'ann',
  { meant: [/ERR_INTERNET_DISCONNECTED|ERR_NETWORK/] },
);
