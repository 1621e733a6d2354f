// Behaviour of the GUI under faults: expired sessions, invalid responses, network failures, and changes by other users.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { apply, base, button, freePort, key, launch, offline, people, settle, signedIn, signIn, tasks, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const task = signedIn(() => browser);
const stranger = tasks(() => browser);

/** Calls the API as the user who is signed in on the page. */
const api = (page, method, path, data) => page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data });

/** Makes the API answer a path with an invalid body. */
const broken = (page, path, body) => page.route(`**/api/v4.0${path}`, (route) => route.fulfill({ json: body }));

const failing = [/console: .*TypeError/, /script: .*TypeError/, /is not iterable|not a function|Cannot read|of null|of undefined/];

task('the offer to undo a change ends, and the page stays', async (page) => {
  await page.route(/\/farms\/shop\?$/, async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), warning: 'the check alive cannot ask backend 0' } });
  });
  await visit(page, 'farms/shop/settings');
  await page.getByLabel('Comment').fill('ten seconds pass');
  await button(page, 'Save…').click();
  await settle(page, 'Settings of shop');
  await page.getByText('the check alive cannot ask backend 0').waitFor(); // the preview does not show this warning
  await page.getByRole('button', { name: /^Undo/ }).waitFor();
  await page.mouse.move(5, 400); // hovering the notice stops its timer
  await page.getByRole('button', { name: /^Undo/ }).waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'shop' }).waitFor();
  assert.equal(await page.getByLabel('Comment').inputValue(), 'ten seconds pass');
});

task(
  'a page that fails says so, and the way back is open',
  async (page) => {
    await broken(page, '/headroom', { params: 5 });
    await page.getByRole('link', { name: 'Headroom' }).click();
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
    await page.waitForTimeout(3000); // long enough for a queued change to be sent
    assert.deepEqual(sent, []);
  },
  'ann',
  { meant: [offline] },
);

task(
  'what could not be asked for without a network comes when it is back',
  async (page) => {
    await page.route('**/api/v4.0/changes/stream', (route) => route.abort()); // it works without events
    await visit(page, 'timeline');
    await page.context().setOffline(true);
    await page.getByText('1 week', { exact: true }).click();
    const said = page.getByRole('main').getByRole('alert').filter({ hasText: 'The appliance does not answer' });
    await said.waitFor();
    await page.context().setOffline(false);
    await said.waitFor({ state: 'detached' });
    await page.getByText('create farm shop').first().waitFor();
  },
  'ann',
  { meant: [offline] },
);

for (const [how, leave] of Object.entries({
  'a sign-out': async (page) => {
    await button(page, 'ann').click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
  },
  'the sign-out of somebody who has left': (page) => page.evaluate(() => localStorage.setItem('sluice.used', '1')),
}))
  task(
    `${how} without a network is not done, and comes before anything is shown when it is back`,
    async (page) => {
      await visit(page, 'farms');
      await page.context().setOffline(true);
      await leave(page);
      await page.getByRole('alert').filter({ hasText: 'You are still signed in: the appliance cannot be reached' }).waitFor();
      assert.ok(await page.getByRole('heading', { level: 1, name: 'Farms' }).isHidden());
      const sent = [];
      page.on('request', (r) => r.url().includes('/api/') && sent.push(`${r.method()} ${new URL(r.url()).pathname}`));
      await page.context().setOffline(false);
      await button(page, 'Sign in').waitFor();
      assert.ok(sent[0].startsWith('DELETE') && sent[0].endsWith('/session'), String(sent));
      assert.equal((await page.request.get(new URL('/api/v4.0/system/info', base).href)).status(), 401);
    },
    'ann',
    { meant: [offline] },
  );

for (const status of [403, 429, 500])
  task(
    `a sign-out that is refused with ${status} says so, and can be tried again or dropped`,
    async (page) => {
      await visit(page, 'farms');
      await page.route('**/api/v4.0/session*', (route) => (route.request().method() === 'DELETE' ? route.fulfill({ status, json: { message: 'not now' } }) : route.continue()));
      await button(page, 'ann').click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      const said = page.getByRole('alert').filter({ hasText: 'You are still signed in: the appliance refused the sign-out' });
      await said.getByText('not now').waitFor();
      await button(page, 'Stay signed in').click();
      await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
      await button(page, 'ann').click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await said.waitFor();
      await page.unroute('**/api/v4.0/session*');
      await button(page, 'Try again').click();
      await button(page, 'Sign in').waitFor();
    },
    'ann',
    { meant: [new RegExp(`status of ${status}`)] },
  );

stranger('the sign-in loads what it needs, and the pages come while somebody types', async (page) => {
  const loaded = [];
  page.on('response', (r) => /\/assets\/.*\.js$/.test(r.url()) && loaded.push(r));
  await page.goto(base);
  await page.getByLabel('User').waitFor();
  const named = await page.locator('script[src], link[rel=modulepreload]').evaluateAll((all) => all.map((e) => e.src || e.href));
  const first = [...new Set(named)].filter((url) => !/\/pages-/.test(url));
  const sizes = await Promise.all(first.map(async (url) => (await page.request.get(url)).body().then((b) => b.length)));
  assert.ok(sizes.reduce((a, b) => a + b, 0) < 560_000, `${first.join(' ')}: ${sizes.join(' + ')} bytes`);
  await page.waitForFunction(() => performance.getEntriesByType('resource').some((r) => /\/assets\/pages-.*\.js$/.test(r.name)));
});

/** Intercepts the page chunks. The HTML and loaded chunks are unaffected. */
const withheld = (page, answer) => page.route(/\/gui\/assets\/page-.*\.js$/, answer);

task(
  'a page that cannot be loaded is tried again when the network is back',
  async (page) => {
    await withheld(page, (route) => route.abort());
    await page.route(/\/gui\/$/, (route) => route.abort());
    await page.getByRole('link', { name: 'Headroom' }).click();
    const said = page.getByRole('alert').filter({ hasText: 'A part of the GUI could not be loaded' });
    await said.getByText('The appliance is unreachable.').waitFor();
    await page.unroute(/\/gui\/assets\/page-.*\.js$/);
    await page.unroute(/\/gui\/$/);
    await said.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Headroom' }).waitFor();
  },
  'ann',
  { meant: [/ERR_FAILED/, /PartMissing/] },
);

task(
  'a page of another version says so, and comes when the GUI is loaded again',
  async (page) => {
    await withheld(page, (route) => route.fulfill({ status: 404 }));
    await page.route(/\/gui\/$/, (route) => route.fulfill({ contentType: 'text/html', body: '<script type="module" src="/gui/assets/index-newer.js"></script>' }));
    await page.getByRole('link', { name: 'Headroom' }).click();
    const said = page.getByRole('alert').filter({ hasText: 'A part of the GUI could not be loaded' });
    await said.getByText('new version').waitFor();
    await page.unroute(/\/gui\/assets\/page-.*\.js$/);
    await page.unroute(/\/gui\/$/);
    await said.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', { level: 1, name: 'Headroom' }).waitFor();
  },
  'ann',
  { meant: [/status of 404|ERR_ABORTED/, /PartMissing/] },
);

/** Makes the API fail GETs of some paths, as under overload. */
const refusing = (page, paths) => page.route(paths, (route) => (route.request().method() === 'GET' ? route.fulfill({ status: 500, json: { message: 'it broke' } }) : route.continue()));
const meant500 = { meant: [/status of 500/] };

task(
  'a page that cannot ask for its farm says so, instead of an empty list',
  async (page) => {
    const details = /\/api\/v4\.0\/farms\/shop(\?|$)/;
    await refusing(page, details);
    for (const tab of ['services', 'sessions', 'settings', 'services/all']) {
      await visit(page, `farms/shop/${tab}`);
      const said = page.getByRole('alert').filter({ hasText: 'it broke' });
      await said.getByRole('button', { name: 'Try again' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Add a service' }).count(), 0, tab);
    }
    await page.unroute(details);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 2, name: 'all' }).waitFor();
    await refusing(page, '**/api/v4.0/schema?');
    await visit(page, 'farms/shop/services');
    await button(page, 'Add a service').click();
    await page.getByRole('dialog', { name: 'Add a service' }).getByRole('alert').filter({ hasText: 'it broke' }).waitFor();
    await page.unroute('**/api/v4.0/schema?');
    await refusing(page, '**/api/v4.0/system/notifications/kinds');
    await visit(page, 'notifications');
    const told = page.getByRole('region', { name: 'Events and channels' });
    await told.getByRole('alert').filter({ hasText: 'it broke' }).waitFor();
    assert.equal(await told.getByRole('table').count(), 0);
    await refusing(page, '**/api/v4.0/system/notifications/alerts/backends');
    await button(page, 'Settings: backends').click();
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: 'it broke' }).waitFor();
    await refusing(page, /\/(status|lint|timeline)(\?|$)/);
    await visit(page, '');
    await page.getByRole('region', { name: 'Needs attention' }).getByRole('alert').filter({ hasText: 'it broke' }).waitFor();
    await page.getByRole('region', { name: 'Recent changes' }).getByRole('alert').filter({ hasText: 'it broke' }).waitFor();
    assert.equal(await page.getByText('All farms that you can see are up').count(), 0);
  },
  'ann',
  meant500,
);

task(
  'what is shown stays when it cannot be asked for again, with the dialog that is open',
  async (page) => {
    await visit(page, 'farms/shop/settings');
    await page.getByLabel('Comment').fill('typed before the failure');
    await button(page, 'Save…').click();
    const dialog = page.getByRole('dialog', { name: 'Settings of shop' });
    await dialog.getByRole('button', { name: 'Apply' }).waitFor();
    await refusing(page, '**/api/v4.0/stats/farms/shop');
    await page.getByRole('alert', { includeHidden: true }).filter({ hasText: 'it broke' }).waitFor();
    await dialog.getByRole('button', { name: 'Apply' }).waitFor();
    await page.unroute('**/api/v4.0/stats/farms/shop');
    await page.getByRole('alert', { includeHidden: true }).filter({ hasText: 'it broke' }).waitFor({ state: 'detached' });
    await settle(page, 'Settings of shop');
  },
  'ann',
  meant500,
);

task('an address of something that does not exist says so, and leads back', async (page) => {
  for (const [path, back] of [
    ['farms/none', 'Farms'],
    ['farms/shop/services/none', 'Services'],
    ['people/roles/none', 'Roles'],
    ['checks/none', 'Health checks'],
    ['apidocs/none', 'API'],
  ]) {
    await page.goto(base + path);
    const said = page.getByRole('alert').filter({ hasText: 'Not found' });
    await said.getByRole('link', { name: back, exact: true }).click();
    await said.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  for (const path of ['farms/shop/zones', 'farms/shop/zones/none', 'people/signing/none', 'system/machine/none']) {
    await page.goto(base + path);
    await page.getByText('This page does not exist').waitFor();
  }
});

task('what is edited while a colleague deletes it is gone, and is not created again', async (page) => {
  const port = Number(await freePort());
  const made = async (path, data) => assert.ok((await api(page, 'POST', path, data)).ok());
  await made('/farms', { farmname: 'dns', profile: 'gslb', vip: '127.0.0.1', vport: port });
  await made('/farms/dns/zones', { id: 'gone.example' });
  await visit(page, 'farms/dns/zones');
  await button(page, 'Edit: gone.example').click();
  const zone = page.getByRole('dialog', { name: /gone.example/ });
  await zone.getByRole('button', { name: 'Save…' }).waitFor();
  assert.ok((await api(page, 'DELETE', '/farms/dns/zones/gone.example')).ok());
  await zone.getByText('gone.example no longer exists').waitFor();
  assert.equal(await zone.getByRole('button', { name: 'Create…' }).count(), 0);
  assert.ok((await api(page, 'DELETE', '/farms/dns')).ok());
  const { params } = await (await api(page, 'POST', '/farms/shop/services/all/backends', { ip: '127.0.0.1', port: 9, alias: 'brief' })).json();
  await visit(page, 'farms/shop/services/all');
  await visit(page, 'farms/shop');
  await button(page, 'Edit brief').click();
  const backend = page.getByRole('dialog', { name: /brief/ });
  await backend.getByRole('button', { name: 'Save…' }).waitFor();
  assert.ok((await api(page, 'DELETE', `/farms/shop/services/all/backends/${params.id}`)).ok());
  await backend.getByText('brief no longer exists').waitFor();
});

task(
  'a form is not drawn in English before its texts are there',
  async (page) => {
    let release;
    const held = new Promise((done) => (release = done));
    await page.route(/\/assets\/fields\.de-/, (route) => held.then(() => route.continue()));
    await page.evaluate(() => localStorage.setItem('sluice.language', 'de'));
    await page.goto(`${base}farms/shop/services/all`);
    await page.getByRole('heading', { level: 2, name: 'all' }).waitFor();
    await page.getByRole('button', { name: 'Verwerfen' }).waitFor();
    assert.equal(await page.getByText('Queue length').count(), 0);
    release();
    await page.getByLabel('Länge der Warteschlange').waitFor();
  },
);

/** Ends the session of the page, as if it had expired, and waits for the sign-in form. */
async function expire(page) {
  await page.request.delete(new URL('/api/v4.0/session', base).href);
  await page.getByText('Your session has ended.').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0, 'nothing of the page is seen meanwhile');
}

async function enter(page, name) {
  await page.getByLabel('User').fill(name);
  await page.locator('input[autocomplete=current-password]:visible').fill(people[name]);
  await button(page, 'Sign in').click();
  await page.getByRole('navigation').waitFor();
}

task('what is typed when the session ends is there after the next sign-in, for the same user only', async (page) => {
  await visit(page, 'farms/shop');
  await button(page, 'Edit blue').click();
  const form = page.getByRole('dialog', { name: 'Edit blue' });
  await form.locator('[name=weight]').fill('7');
  await form.getByRole('button', { name: 'Save…' }).click();
  const shown = page.getByRole('dialog').filter({ has: button(page, 'Apply') });
  await shown.getByText('weight: 7').waitFor();
  await expire(page);
  await enter(page, 'ann');
  await shown.getByText('weight: 7').waitFor();
  await page.keyboard.press('Escape'); // Escape closes one dialog at a time
  await shown.waitFor({ state: 'detached' });
  assert.equal(await form.locator('[name=weight]').inputValue(), '7');
  await page.keyboard.press('Escape');
  await form.waitFor({ state: 'detached' });

  await visit(page, 'checks');
  await button(page, 'Test: check_http').click();
  const tried = page.getByRole('dialog', { name: 'Test check_http' });
  await tried.getByRole('textbox').first().fill('host.of.ann.example');
  await expire(page);
  await enter(page, 'ann');
  assert.equal(await tried.getByRole('textbox').first().inputValue(), 'host.of.ann.example');
  await expire(page);
  await enter(page, 'bob');
  await page.getByRole('heading', { level: 1, name: 'Health checks' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
});

task('what is typed is there ten minutes after the session ended', async (page) => {
  await page.clock.install();
  await visit(page, 'checks/check_http');
  await button(page, 'Test').click();
  const tried = page.getByRole('dialog', { name: 'Test check_http' });
  await tried.getByRole('textbox').first().fill('host.of.ann.example');
  await expire(page);
  await page.clock.fastForward('10:00');
  await enter(page, 'ann');
  assert.equal(await tried.getByRole('textbox').first().inputValue(), 'host.of.ann.example');
});

task('another user who signs in in another tab gets own pages and rights', async (page) => {
  await visit(page, 'farms');
  await button(page, 'New farm').waitFor();
  assert.ok(await button(page, 'New farm').isEnabled());
  await expire(page);
  const answer = await page.request.post(new URL('/api/v4.0/session', base).href, { headers: { Authorization: `Basic ${btoa(`bob:${people.bob}`)}` } });
  assert.ok(answer.ok(), await answer.text());
  await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
  await page.getByRole('navigation').waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('button')].some((b) => b.textContent === 'New farm' && b.disabled));
});

task('what a colleague changes beside the configuration is not overwritten from an old difference', async (page) => {
  const asRoot = async (method, path, data) => {
    const answer = await page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data, headers: { ZAPI_KEY: key } });
    assert.ok(answer.ok(), await answer.text());
    return answer.json();
  };
  await asRoot('POST', '/rbac/roles', { name: 'shared' });
  await visit(page, 'people/roles/shared');
  await page.getByRole('switch', { name: 'farm.create' }).press('Space');
  await button(page, 'Save…').click();
  const dialog = page.getByRole('dialog', { name: 'Permissions of shared' });
  await dialog.getByText('+ farm.create').waitFor();
  await asRoot('PUT', '/rbac/roles/shared', { log: { show: 'true' } });
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByText('check the current values').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Apply' }).isDisabled());
  await page.keyboard.press('Escape');
  await page.getByRole('switch', { name: 'log.show', checked: true }).waitFor();
  await button(page, 'Save…').click();
  await dialog.getByText('+ farm.create').waitFor();
  assert.equal(await dialog.getByText('log.show').count(), 0);
  await settle(page, 'Permissions of shared');
  const { params } = await asRoot('GET', '/rbac/roles/shared');
  assert.deepEqual([params.farm.create, params.log.show], ['true', 'true']);
});

task('more farms than one change may have are not offered to be stopped', async (page) => {
  await page.route('**/api/v4.0/stats/farms', async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    const [one] = json.farms;
    await route.fulfill({ response, json: { ...json, farms: Array.from({ length: 257 }, (_, i) => ({ ...one, farmname: `${one.farmname}-${i}` })) } });
  });
  await visit(page, 'farms');
  await page.getByRole('checkbox', { name: 'Select all farms shown' }).check();
  await page.getByText('At most 256 at a time.').waitFor();
  assert.ok(await button(page, 'Stop').isDisabled());
  await page.getByRole('checkbox', { name: 'Select shop-0', exact: true }).uncheck();
  await page.getByText('At most 256 at a time.').waitFor({ state: 'detached' });
  assert.ok(await button(page, 'Stop').isEnabled());
});
