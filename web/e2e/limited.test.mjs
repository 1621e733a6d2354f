// Users who see one farm, with few rights: no page requests data that the appliance
// refuses them, and each page says so instead of showing an empty list.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pages } from './everypage.mjs';
import { base, key, launch, open, people, signIn, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Visits all pages as a user, and returns the API calls that were refused. */
async function refusedTo(user, look = async () => {}) {
  const { page, end } = await open(browser);
  let name = 'sign-in';
  const refused = [];
  page.on('response', (r) => {
    const { pathname, search } = new URL(r.url());
    if (pathname.startsWith('/api/') && r.status() >= 400 && name !== 'sign-in') refused.push(`${name}: ${r.status()} ${r.request().method()} ${pathname}${search}`);
  });
  await signIn(page, user);
  for (const [at, path] of Object.entries(pages)) {
    if (path.startsWith('farms/names')) continue; // this farm does not exist here
    name = at;
    await visit(page, path).catch((e) => assert.fail(`${at}: ${e.message}`));
    await look(page, at);
  }
  await end();
  return refused;
}

const main = (page) => page.getByRole('main').innerText();

const refusal = /You do not have permission to view this/;
/** Shown above a form that the user may view but not send. */
const readOnly = /You can view these settings, but not change them/;
const reason = /The permission “[\w.-]+” is required\.|This concerns all farms|Only root may see this/;

test('no page requests what the role monitoring does not include', async () => {
  const without = [];
  const refused = await refusedTo('bob', async (page, at) => {
    const text = await main(page);
    assert.equal(refusal.test(text) || readOnly.test(text) || at === 'new-farm', reason.test(text), `${at}: a refusal and its reason`);
    if (refusal.test(text)) without.push(at);
  });
  assert.deepEqual(refused, []);
  for (const at of ['history', 'users', 'groups', 'roles', 'keys', 'certificates', 'authorities', 'orders', 'backups']) assert.ok(without.includes(at), `${at} shows that it is refused`);
  for (const at of ['dashboard', 'farms', 'farm', 'services', 'settings', 'timeline', 'account']) assert.ok(!without.includes(at), `${at} is shown`);
});

test('no page requests what a role without any permission does not include', async () => {
  assert.deepEqual(await refusedTo('eve'), []);
});

/** Returns the names of disabled buttons that do not state a reason. */
const silent = (page) => page.locator('main button:disabled:not([title])').evaluateAll((all) => all.map((e) => e.ariaLabel ?? e.textContent));

test('what the role monitoring may not do is off, and says why', async () => {
  const { page, end } = await open(browser);
  const refused = [];
  page.on('response', (r) => r.status() === 403 && refused.push(r.url()));
  await signIn(page, 'bob');
  await visit(page, 'new-farm');
  await page.getByText('The permission “farm.create” is required.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Create…' }).isDisabled());
  for (const [name, value] of [['farmname', 'mine'], ['vip', '127.0.0.1'], ['vport', '8080']]) await page.locator(`[name=${name}]`).fill(value);
  await page.locator('[name=backends]').focus();
  for (const path of ['farms', 'farms/shop', 'farms/shop/services', 'farms/shop/settings', 'checks', 'certificates', 'findings']) {
    await visit(page, path);
    assert.deepEqual((await silent(page)).filter((name) => !/^(Discard|Save…)/.test(name)), [], path);
  }
  await visit(page, 'farms/shop');
  const stop = page.getByRole('button', { name: 'Stop', exact: true });
  assert.equal(await stop.getAttribute('title'), 'The permission “farm.action” is required.');
  assert.deepEqual(refused, []);
  await end();
});

test('a user who may not see the state of the appliance sees a farm that is down', async () => {
  const { page, end } = await open(browser);
  const call = async (method, path, data) => {
    const answer = await page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data, headers: { ZAPI_KEY: key } });
    assert.ok(answer.ok(), await answer.text());
  };
  await signIn(page, 'eve');
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await attention.getByText('All farms that you can see are up').waitFor();
  const maintain = (backend, sent) => call('PUT', `/farms/shop/services/all/backends/${backend}/maintenance`, sent);
  await maintain(0, { action: 'maintenance', mode: 'drain' });
  await maintain(1, { action: 'maintenance', mode: 'drain' });
  await attention.getByRole('link', { name: 'shop' }).waitFor();
  await maintain(0, { action: 'up' });
  await maintain(1, { action: 'up' });
  await end();
});

test('nothing that a user saw is left for the next user of the browser', async () => {
  const { page, end } = await open(browser);
  await signIn(page, 'ann');
  await visit(page, 'history');
  await page.getByText('create farm shop').waitFor();
  await page.request.delete(new URL('/api/v4.0/session', base).href); // as if it had expired
  await page.getByLabel('User').waitFor();
  const asked = [];
  page.on('request', (r) => r.url().includes('/api/') && asked.push(new URL(r.url()).pathname));
  await page.getByLabel('User').fill('bob');
  await page.locator('input[type=password]').fill(people.bob);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The permission “history.show” is required.').or(page.getByText('This concerns all farms')).waitFor();
  assert.equal(await page.getByText('create farm shop').count(), 0);
  assert.ok(!asked.includes('/api/v4.0/history'), `the history is not requested: ${asked}`);
  await end();
});
