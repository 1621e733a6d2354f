// Farms, services, backends and rules: created, changed and deleted in forms.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { base, button, farm, freePort, key, launch, people, picture, settle as apply, signedIn, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const task = signedIn(() => browser);

const save = (page) => page.getByRole('button', { name: 'Save…' }).click();

task('a farm is created with its backends, and answers', async (page) => {
  await visit(page, 'farms');
  await page.getByRole('button', { name: 'New farm' }).click();
  await page.getByRole('heading', { level: 1, name: 'New farm' }).waitFor();
  await page.getByLabel('Farm').fill('second');
  await page.getByRole('combobox', { name: 'Virtual address' }).fill('127.0.0.1');
  await page.getByLabel('Virtual port').fill(new URL(farm).port);
  await page.getByLabel('Backends').fill('127.0.0.1');
  await page.getByText(/must not be used by another running farm/).waitFor();
  const port = await freePort();
  await page.getByLabel('Virtual port').fill(port);
  await page.getByLabel('Backends').fill('not a backend');
  await page.getByText('Not ADDRESS:PORT: not a backend').waitFor();
  await page.getByText(`127.0.0.1:${port} is an address of this machine`).waitFor();
  await page.getByLabel('Backends').fill('127.0.0.1:1\n127.0.0.1:2');
  await page.getByRole('button', { name: 'Create…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create farm second' });
  await dialog.getByText('sluice backend create second default ip=127.0.0.1 port=2').waitFor();
  await apply(page, 'Create farm second');
  await page.getByRole('heading', { level: 1, name: 'second' }).waitFor();
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 503);
  await page.getByRole('button', { name: 'Delete', exact: true }).first().click();
  await apply(page, 'Delete second');
  await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
});

task('whether an address is free is said of it alone, whatever else the appliance warns of', async (page) => {
  const call = async (method, path, data) => assert.ok((await page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data })).ok());
  await call('POST', '/farms', { farmname: 'warned', profile: 'gslb', vip: '127.0.0.1', vport: Number(await freePort()) });
  await call('POST', '/farms/warned/zones', { id: 'warned.example' }); // the appliance warns that the name server has no address
  const port = await freePort();
  await visit(page, 'new-farm');
  await page.getByText('TCP, UDP, SCTP').click();
  await page.getByLabel('Farm').fill('third');
  await page.getByRole('combobox', { name: 'Virtual address' }).fill('127.0.0.1');
  await page.getByLabel('Virtual port').fill(new URL(base).port);
  await page.getByLabel('Backends').fill('127.0.0.1:1');
  await page.getByText(/API listens on|another program uses/).waitFor();
  await page.getByLabel('Virtual port').fill(port);
  await page.getByText(/API listens on|another program uses/).waitFor({ state: 'detached' }); // the message was about the previous port
  await page.getByLabel('Backends').click();
  await page.getByText(`127.0.0.1:${port} is an address of this machine`).waitFor();
  await page.getByRole('button', { name: 'Create…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create farm third' });
  await dialog.getByText('sluice backend create third ip=127.0.0.1 port=1').waitFor();
  assert.equal(await dialog.getByText(/warned/).count(), 0);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await call('DELETE', '/farms/warned');
});

task('settings are found, tried, refused at their field, and saved', async (page) => {
  await visit(page, 'farms/shop/settings');
  await page.getByLabel('Find a setting').fill('response timeout');
  const field = page.getByLabel('Response timeout');
  await field.fill('never');
  await page.getByText('1 setting changed').waitFor();
  await save(page);
  await page.getByText(/restimeout must be a (whole )?number/).waitFor();
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  await field.fill('46');
  await save(page);
  const dialog = page.getByRole('dialog', { name: 'Settings of shop' });
  await dialog.getByText('sluice farm set shop restimeout=46').waitFor();
  await dialog.locator('.diff').getByText('restimeout: 46').waitFor();
  await apply(page, 'Settings of shop');
  await page.getByText('1 setting changed').waitFor({ state: 'detached' });
  await page.reload();
  await page.getByLabel('Find a setting').fill('response timeout');
  assert.equal(await field.inputValue(), '46');
});

task('what was saved is undone by a click, unless somebody else has changed something meanwhile', async (page) => {
  const timeout = async () => (await (await page.request.get(new URL('/api/v4.0/farms/shop', base).href)).json()).params.resurrectime;
  const change = async (to) => {
    await visit(page, 'farms/shop/settings');
    await page.getByLabel('Find a setting').fill('resurrectime');
    await page.locator('[name=resurrectime]').fill(String(to));
    await save(page);
    await apply(page, 'Settings of shop');
    await page.getByRole('alert').getByRole('button', { name: 'Undo' }).hover(); // hovering stops the timer
  };
  const before = await timeout();
  await change(before + 7);
  assert.equal(await timeout(), before + 7);
  await picture(page, 'undo');
  await page.getByRole('alert').getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/Revision \d+ has been undone/).waitFor();
  assert.equal(await timeout(), before);
  await change(before + 8);
  await page.request.put(new URL('/api/v4.0/farms/shop', base).href, { headers: { ZAPI_KEY: key }, data: { comment: 'of somebody else' } });
  await page.getByRole('alert').getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('alert').getByText(/changed by someone else/).waitFor();
  assert.equal(await timeout(), before + 8);
});

task('fields appear when they apply', async (page) => {
  await visit(page, 'farms/shop/services/all');
  await page.getByLabel('Max. wait').waitFor({ state: 'detached' });
  await page.getByLabel('Queue length').fill('5');
  await page.getByLabel('Max. wait').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByLabel('Max. wait').waitFor({ state: 'detached' });
});

task('what was typed is still there after another page, and after the session ended', async (page) => {
  await visit(page, 'farms/shop/settings');
  await page.getByLabel('Connect timeout').fill('21');
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
  await page.goBack();
  assert.equal(await page.getByLabel('Connect timeout').inputValue(), '21');
  await page.context().clearCookies();
  await page.getByLabel('User').waitFor(); // the next request is refused
  await page.getByLabel('User').fill('ann');
  await page.locator('input[type=password]').fill(people.ann);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('1 setting changed').waitFor();
  assert.equal(await page.getByLabel('Connect timeout').inputValue(), '21');
});

task('services are added, moved and deleted', async (page) => {
  await visit(page, 'farms/shop/services');
  await page.getByRole('button', { name: 'Add a service' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('bad name');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await page.getByRole('dialog').getByText(/id must be a name of letters/).waitFor();
  await page.getByRole('dialog').getByLabel('Name').fill('images');
  await page.getByRole('dialog').getByLabel('URL').first().fill('^/images/');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await apply(page, 'Create service images');
  // A new service is placed before the one that matches every request.
  await page.getByRole('button', { name: 'Move images down' }).click();
  await apply(page, 'Move images to position 2');
  await page.getByRole('button', { name: 'Move images up' }).click();
  await apply(page, 'Move images to position 1');
  await page.getByRole('region', { name: 'images' }).getByText('1', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Add a backend to images' }).click();
  await page.getByRole('dialog').getByLabel('Address').fill('127.0.0.1');
  await page.getByRole('dialog').getByLabel('Port').fill('70000');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await page.getByRole('dialog').getByText(/port must be a number from 1 to 65535/).waitFor();
  await page.getByRole('dialog').getByLabel('Port').fill('9');
  await page.getByRole('dialog').getByLabel('Alias').fill('nine');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('region', { name: 'images' }).getByText('nine').waitFor();
  await page.getByRole('button', { name: 'Delete service images' }).click();
  await apply(page, 'Delete service images');
  await page.getByRole('region', { name: 'images' }).waitFor({ state: 'detached' });
});

task('header rules are added, changed and deleted, and change what clients get', async (page) => {
  const seen = async () => (await fetch(farm)).headers.get('x-from');
  await visit(page, 'farms/shop/services/all');
  await page.getByRole('button', { name: 'Add Headers added to responses' }).click();
  const form = page.getByRole('dialog', { name: 'Headers added to responses' }).first();
  await form.getByLabel('Header').fill('no colon');
  await form.getByRole('button', { name: 'Create…' }).click();
  await form.getByText(/header must be a header as "Name: value"/).waitFor();
  await form.getByLabel('Header').fill('X-From: gui');
  await form.getByRole('button', { name: 'Create…' }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Delete Headers added to responses 0' }).waitFor();
  assert.equal(await seen(), 'gui');
  await page.getByLabel('Request headers').fill('X-Mine: 1');
  await page.getByLabel('Response headers').fill('HTTP/1.1 404 Not Found\nX-Theirs: 2');
  await button(page, 'Explain').click();
  await page.getByRole('region', { name: 'Request sent to the backend' }).getByText('X-Mine: 1').waitFor();
  const answer = page.getByRole('region', { name: 'Response sent to the client' });
  await answer.getByText(/HTTP\/1\.1 404 Not Found\s+X-Theirs: 2\s+X-From: gui/).waitFor();
  await answer.getByText('added (service): X-From: gui').waitFor();
  await picture(page, 'explained');
  await page.getByRole('button', { name: 'Delete Headers added to responses 0' }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Delete Headers added to responses 0' }).waitFor({ state: 'detached' });
  assert.equal(await seen(), null);
});

/** Calls the API as another user while the page is open. */
const other = (page, method, path, data) => page.request.fetch(new URL(`/api/v4.0/${path}`, base).href, { method, headers: { ZAPI_KEY: key }, data });

task('a setting that somebody else changed meanwhile is shown again before it is applied', async (page) => {
  await visit(page, 'farms/shop/settings');
  await page.getByLabel('Find a setting').fill('resurrectime');
  await page.locator('[name=resurrectime]').fill('77');
  await save(page);
  const dialog = page.getByRole('dialog', { name: 'Settings of shop' });
  await dialog.locator('.diff').getByText('resurrectime: 77').waitFor();
  await other(page, 'PUT', 'farms/shop', { resurrectime: 78 });
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByText('The difference below is against the current state').waitFor();
  await dialog.locator('.diff').getByText('resurrectime: 78').waitFor();
  await picture(page, 'changed-meanwhile');
  await apply(page, 'Settings of shop');
  await dialog.waitFor({ state: 'detached' });
});

task('a rule that has another position by now is not touched', async (page) => {
  const rules = 'farms/shop/services/all/addresponseheader';
  const headers = async () => (await (await other(page, 'GET', rules)).json()).params.map((r) => r.header);
  await other(page, 'POST', rules, { header: 'X-First: 1' });
  await other(page, 'POST', rules, { header: 'X-Second: 2' });
  await visit(page, 'farms/shop/services/all');
  await page.getByRole('button', { name: 'Edit Headers added to responses 0' }).click();
  const form = page.getByRole('dialog', { name: 'Headers added to responses' }).first();
  await form.getByLabel('Header').fill('X-First: changed');
  await other(page, 'DELETE', `${rules}/0`);
  await form.getByRole('button', { name: 'Save…' }).click();
  await page.getByText('the order of the list may have changed').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Apply' }).isDisabled(), true);
  assert.deepEqual(await headers(), ['X-Second: 2']);
  await other(page, 'DELETE', `${rules}/0`);
});

task('exchanges are watched as they end', async (page) => {
  await visit(page, 'farms/shop/trace');
  await page.getByRole('button', { name: 'Watch' }).click();
  await page.getByText('Waiting for requests…').waitFor();
  for (let i = 0; i < 20 && (await page.getByText('/watched').count()) === 0; i++) {
    await fetch(new URL('/watched', farm));
    await page.waitForTimeout(250);
  }
  await page.getByRole('row', { name: /\/watched/ }).first().getByRole('cell', { name: '200', exact: true }).waitFor();
});

task('the access log of a farm is switched on, watched and searched', async (page) => {
  await visit(page, 'farms/shop/log');
  await page.getByText('Access logging is off for this farm').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('switch', { name: 'Logging' }).press('Space');
  await save(page);
  await apply(page, 'Settings of shop');
  await page.getByRole('tab', { name: 'Access log' }).click();
  for (const path of ['/one', '/two']) await fetch(new URL(path, farm));
  const log = page.getByRole('log', { name: 'shop.log' });
  await log.getByText('/two').waitFor();
  await picture(page, 'log');
  await page.getByLabel('Search').fill('/one');
  await page.getByText('1 line, newest first').waitFor();
  assert.ok(!(await log.innerText()).includes('/two'));
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: '5xx' }).click();
  await page.getByText('0 lines, newest first').waitFor();
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: '2xx' }).click();
  await page.getByText('1 line, newest first').waitFor();
});

task('sessions are seen and ended', async (page) => {
  await visit(page, 'farms/shop/services/all');
  await page.getByRole('combobox', { name: 'Persistence' }).click();
  await page.getByRole('option', { name: 'IP', exact: true }).click();
  await save(page);
  await apply(page, 'Settings of service all');
  await fetch(farm);
  await visit(page, 'farms/shop/sessions');
  await page.getByRole('button', { name: /Delete: 127\.0\.0\.1/ }).click();
  await page.getByText('Session 127.0.0.1 deleted.').waitFor();
  await visit(page, 'farms/shop/services/all');
  await page.getByRole('combobox', { name: 'Persistence' }).click();
  await page.getByRole('option', { name: 'none', exact: true }).click();
  await save(page);
  await apply(page, 'Settings of service all');
});

task('several farms are stopped and started as one change', async (page) => {
  await visit(page, 'farms');
  await page.getByLabel('Select all farms shown').check();
  await page.getByText(/1 farm selected/).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByRole('dialog').getByText('sluice farm stop shop').waitFor();
  await apply(page, /Stop 1 farm/);
  await page.getByRole('row', { name: /shop/ }).getByText('stopped').waitFor();
  await page.getByLabel('Select shop').check();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await apply(page, /Start 1 farm/);
  await page.getByRole('row', { name: /shop/ }).getByText('up', { exact: true }).waitFor();
  await fetch(farm);
});

task('several running farms are restarted, and each has its result', async (page) => {
  const api = async (method, path, data) => assert.ok((await page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data })).ok(), path);
  const more = ['again-a', 'again-b'];
  for (const farmname of more) await api('POST', '/farms', { farmname, profile: 'http', vip: '127.0.0.1', vport: await freePort() });
  await page.route(/\/farms\/again-a\/actions/, (route) => route.fulfill({ status: 400, json: { message: 'again-a cannot restart' } }));
  await visit(page, 'farms');
  for (const name of ['shop', ...more]) await page.getByLabel(`Select ${name}`, { exact: true }).check();
  await page.getByRole('button', { name: 'Restart', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart 3 farms' });
  await dialog.getByText('sluice farm restart shop').waitFor();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByText('3 of 3').waitFor();
  await dialog.getByRole('alert').filter({ hasText: 'again-a cannot restart' }).waitFor();
  for (const name of ['shop', 'again-b']) await dialog.getByRole('listitem').filter({ hasText: name }).getByText('restarted', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('row', { name: /shop/ }).getByText('up', { exact: true }).waitFor();
  for (const name of more) await api('DELETE', `/farms/${name}`);
  await fetch(farm);
});

task('a finding is mended by a click', async (page) => {
  await visit(page, 'farms/shop/services');
  await page.getByRole('button', { name: 'Add a service' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('empty');
  await page.getByRole('dialog').getByLabel('URL').first().fill('^/empty/');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await apply(page, 'Create service empty');
  await visit(page, 'findings');
  await page.getByRole('button', { name: 'Delete service empty' }).first().click();
  await apply(page, 'Delete service empty');
  await page.waitForFunction(() => ![...document.querySelectorAll('button')].some((b) => b.textContent === 'Delete service empty'));
});

task('an outage is rehearsed, and nothing changes', async (page) => {
  await visit(page, 'headroom');
  await page.getByRole('textbox', { name: 'Backends' }).fill('shop/all/0');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByRole('alert').filter({ hasText: 'Takeover' }).waitFor();
  await page.getByRole('textbox', { name: 'Backends' }).fill('shop/all/77');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByRole('alert').getByText(/77/).waitFor();
});

task('traffic is put beside that of the day before', async (page) => {
  await visit(page, 'farms/shop');
  await page.getByRole('switch', { name: 'Compare with yesterday' }).click();
  await page.getByText('requests, yesterday').waitFor();
});

task('who leaves is warned, may stay, and is signed out', async (page) => {
  await page.clock.install();
  await page.goto(base);
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  await page.clock.fastForward('29:10');
  await page.getByRole('dialog', { name: 'Are you still there?' }).getByText(/signed out in \d+ seconds/).waitFor();
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await page.clock.fastForward('00:55');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.clock.fastForward('30:10');
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

task('a connection to an l4xnat farm is explained, with the backends it could reach', async (page) => {
  const port = Number(await freePort());
  const api = async (method, path, data) => assert.ok((await page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data })).ok(), path);
  await api('POST', '/farms', { farmname: 'relay', profile: 'l4xnat', vip: '127.0.0.1', vport: port, datapath: 'userspace' });
  await api('POST', '/farms/relay/backends', { ip: '127.0.0.1', port: Number(new URL(farm).port), alias: 'first' });
  await visit(page, 'farms/relay');
  const part = page.getByRole('region', { name: 'Which backend would a client get?' });
  await part.getByText(/^Forwarded by the engine: /).waitFor();
  await part.getByLabel('Client address').fill('nowhere');
  await part.getByRole('button', { name: 'Explain' }).click();
  await part.getByRole('alert').getByText(/from must be an address/).waitFor();
  await part.getByLabel('Client address').fill('192.0.2.9');
  await part.getByRole('button', { name: 'Explain' }).click();
  const candidates = part.getByRole('region', { name: 'Candidates' });
  await candidates.getByRole('row', { name: /first/ }).waitFor();
  await api('DELETE', '/farms/relay');
});
