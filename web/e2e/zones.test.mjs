// A gslb farm that is created and changed in the GUI, and queried over DNS.
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { createServer } from 'node:net';
import { after, before } from 'node:test';
import { base, button, freePort, launch, picture, settle as apply, signedIn, visit } from './harness.mjs';

let browser;
let port; // of the farm
let backend; // accepts connections, so its check succeeds
let resolver;
before(async () => {
  browser = await launch();
  port = await freePort();
  backend = createServer((c) => c.destroy());
  await new Promise((done) => backend.listen(0, '127.0.0.1', done));
  resolver = new Resolver({ timeout: 2000, tries: 3 });
  resolver.setServers([`127.0.0.1:${port}`]);
});
after(async () => {
  backend.close();
  await browser.close();
});

const task = signedIn(() => browser);
const zone = 'farms/names/zones/example.com';

/** Repeats a query until the answer is as wanted, because health checks take time. */
async function answers(name, want) {
  let last;
  for (let i = 0; i < 120; i++) {
    last = await resolver.resolve4(name).catch((e) => e.code);
    if (JSON.stringify(last) === JSON.stringify(want)) return;
    await new Promise((done) => setTimeout(done, 250));
  }
  assert.deepEqual(last, want);
}

/** Fills in the row being edited. */
async function fill(page, values) {
  for (const [label, value] of Object.entries(values)) {
    const field = page.getByRole('row').filter({ has: page.getByRole('button', { name: 'Cancel' }) }).getByLabel(label, { exact: true });
    if (label === 'Type') await field.selectOption(value);
    else await field.fill(value);
  }
}

task('a farm that answers for names is created with its first zone', async (page) => {
  await visit(page, 'new-farm');
  await page.getByText('DNS', { exact: true }).click();
  await page.getByLabel('Backends').waitFor({ state: 'detached' });
  await page.getByLabel('Farm').fill('names');
  await page.getByRole('combobox', { name: 'Virtual address' }).fill('127.0.0.1');
  await page.getByLabel('Virtual port').fill(port);
  await page.getByLabel('Zone').fill('a..b');
  await page.getByText(`127.0.0.1:${port} is an address of this machine`).waitFor();
  await button(page, 'Create…').click();
  await page.getByText(/id must be the name of a domain/).waitFor();
  assert.equal(await page.getByLabel('Zone').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Zone').fill('example.com');
  await button(page, 'Create…').click();
  await page.getByRole('dialog').getByText('sluice zone create names example.com').waitFor();
  await apply(page, 'Create farm names');
  await page.getByRole('link', { name: 'example.com', exact: true }).waitFor();
  assert.equal(await page.getByRole('tab', { name: 'Sessions' }).count(), 0);
});

task('records are refused at their field, added with keys alone, and answered', async (page) => {
  await visit(page, zone);
  await button(page, 'Add a record').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.type('www');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('60');
  await page.keyboard.press('Tab');
  await page.keyboard.type('nonsense');
  await page.keyboard.press('Enter');
  await page.getByText(/rdata must be an IPv4 address/).waitFor();
  const value = page.getByLabel('Data', { exact: true });
  assert.equal(await value.getAttribute('aria-invalid'), 'true');
  await page.waitForFunction(() => document.activeElement?.name === 'rdata');
  await value.fill('192.0.2.10');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('sluice record create names example.com www A 192.0.2.10 ttl=60').waitFor();
  await apply(page, 'Create record www A');
  await page.getByRole('row', { name: /www.*192\.0\.2\.10/ }).waitFor();
  assert.deepEqual(await resolver.resolve4('www.example.com', { ttl: true }), [{ address: '192.0.2.10', ttl: 60 }]);
  await button(page, 'Add a record').click();
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement?.textContent === 'Add a record');
});

task('records are edited in their row, undone, found, and deleted together', async (page) => {
  await visit(page, zone);
  await button(page, 'Edit: www A').click();
  await fill(page, { Data: '192.0.2.11', Comment: 'moved' });
  await button(page, 'Save…').click();
  await page.getByRole('dialog').locator('.diff').getByText('rdata: 192.0.2.11').waitFor();
  await apply(page, 'Change record www A');
  assert.deepEqual(await resolver.resolve4('www.example.com'), ['192.0.2.11']);
  await page.getByRole('alert').getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/Revision \d+ has been undone/).waitFor();
  assert.deepEqual(await resolver.resolve4('www.example.com'), ['192.0.2.10']);
  for (const name of ['one', 'two']) {
    await button(page, 'Add a record').click();
    await fill(page, { Name: name, Type: 'TXT', Data: `"${name}"` });
    await button(page, 'Create…').click();
    await apply(page, `Create record ${name} TXT`);
  }
  await page.getByLabel('Find a record').fill('two');
  await page.getByText('1 record', { exact: true }).waitFor();
  await page.getByLabel('Find a record').fill('txt');
  await page.getByText('2 records', { exact: true }).waitFor();
  await page.getByLabel('Select all records shown').check();
  await button(page, 'Delete 2 records').click();
  await page.getByRole('dialog').getByText(/sluice record bulk names example.com -/).waitFor();
  await apply(page, 'Delete 2 records');
  await page.getByText('No matches.').waitFor();
  await assert.rejects(resolver.resolveTxt('two.example.com'));
});

task('a service chooses among its backends, and is explained', async (page) => {
  await visit(page, 'farms/names/services');
  await page.getByText(/No services yet/).waitFor();
  await button(page, 'Add a service').click();
  const service = page.getByRole('dialog', { name: 'Add a service' });
  await service.getByLabel('Name').fill('shop');
  await service.getByRole('combobox', { name: 'Algorithm' }).click();
  await page.getByRole('option', { name: 'prio' }).click();
  await service.getByLabel('Built-in check port').fill(String(backend.address().port));
  await button(service, 'Create…').click();
  await apply(page, 'Create service shop');
  await page.getByRole('link', { name: 'shop' }).click();
  await page.getByText('The service has no backends yet.').waitFor();
  await button(page, 'Add a backend').click();
  const form = page.getByRole('dialog', { name: 'Add a backend to shop' });
  await form.getByLabel('Address').fill('no where');
  await button(form, 'Create…').click();
  await form.getByText(/ip must be an address or a resolvable host name/).waitFor();
  await form.getByLabel('Address').fill('127.0.0.1');
  await button(form, 'Create…').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('row', { name: /127\.0\.0\.1/ }).getByText('up', { exact: true }).waitFor();
  await visit(page, zone);
  await button(page, 'Add a record').click();
  await fill(page, { Name: 'shop', Type: 'DYNA', Data: 'gone' });
  await button(page, 'Create…').click();
  await page.getByText('the service gone does not exist').waitFor();
  await fill(page, { Data: 'shop' });
  await button(page, 'Create…').click();
  await apply(page, 'Create record shop DYNA');
  await answers('shop.example.com', ['127.0.0.1']);

  await visit(page, 'farms/names/services/shop');
  await page.getByLabel('Name', { exact: true }).and(page.locator('[value="shop.example.com"]')).waitFor(); // the page has requested the example
  await page.getByRole('combobox', { name: 'Client or its network' }).fill('everywhere');
  await button(page, 'Explain').click();
  await page.getByText(/is no address and no net/).waitFor();
  await page.getByRole('combobox', { name: 'Client or its network' }).fill('198.51.100.0/24');
  await button(page, 'Explain').click();
  const said = page.getByRole('region', { name: 'Answer' });
  await said.getByText('NOERROR · shop.example.com. A').waitFor();
  await said.getByText(/shop\.example\.com\.\s+\d+\s+IN\s+A\s+127\.0\.0\.1/).waitFor();
  await said.getByRole('row', { name: /yes 127\.0\.0\.1 up/ }).waitFor();
  await picture(page, 'passport');
});

task('a backend is taken out of answers, and the picture follows', async (page) => {
  await visit(page, 'farms/names');
  await button(page, 'Explain').click();
  const said = page.getByRole('region', { name: 'Answer' });
  await said.getByRole('row', { name: /yes 127\.0\.0\.1 up/ }).waitFor();
  await page.getByRole('row', { name: /shop 127\.0\.0\.1/ }).getByRole('button', { name: 'Maintenance…' }).click();
  await page.getByRole('menuitem', { name: 'Exclude from answers' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await said.getByRole('row', { name: /127\.0\.0\.1 maintenance/ }).waitFor();
  await page.getByRole('row', { name: /shop 127\.0\.0\.1/ }).getByRole('button', { name: 'Back in service' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await said.getByRole('row', { name: /yes 127\.0\.0\.1 up/ }).waitFor();
  await page.getByRole('button', { name: /Why is 127\.0\.0\.1/ }).click();
  await page.getByRole('dialog').getByText(/check_tcp/).first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('region', { name: 'Queries' }).getByText('Chosen by a service').waitFor();
});

task('a zone file is imported, and its faulty lines are said with their numbers', async (page) => {
  await visit(page, zone);
  await button(page, 'Import…').click();
  const form = page.getByRole('dialog', { name: 'Import zone example.com' });
  await form.getByRole('textbox', { name: 'Records' }).fill('$TTL 300\n@ NS ns1\nns1 A 192.0.2.53\nbad A somewhere\nmail A 192.0.2.25\n');
  await button(form, 'Show the difference…').click();
  const wrong = form.getByRole('alert');
  await wrong.getByText('1 line is invalid').waitFor();
  await wrong.getByText('bad A somewhere').waitFor();
  await picture(page, 'import');
  await button(wrong, 'Line 4').click();
  assert.equal(await page.evaluate(() => getSelection()?.toString() || document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)), 'bad A somewhere');
  await page.keyboard.type('good A 192.0.2.26');
  await form.getByLabel('Keep the existing records').press('Space');
  await button(form, 'Show the difference…').click();
  await page.getByRole('dialog').getByText('sluice zone import names example.com FILE --add').waitFor();
  await page.getByRole('dialog').locator('.diff').getByText('rdata: 192.0.2.26').waitFor();
  await apply(page, 'Import zone example.com');
  await page.getByRole('row', { name: /good/ }).waitFor();
  assert.deepEqual(await resolver.resolve4('good.example.com'), ['192.0.2.26']);
  assert.deepEqual(await resolver.resolve4('www.example.com'), ['192.0.2.10']);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
  assert.equal(file.suggestedFilename(), 'example.com.zone');
});

task('zones are added, changed and deleted', async (page) => {
  await visit(page, 'farms/names/zones');
  await button(page, 'Add a zone').click();
  const form = page.getByRole('dialog', { name: 'Add a zone' });
  await form.getByLabel('Zone').fill('example.net');
  await form.getByLabel('TTL').fill('soon');
  await button(form, 'Create…').click();
  await form.getByText(/ttl must be a (whole )?number/).waitFor();
  await form.getByLabel('TTL').fill('120');
  await button(form, 'Create…').click();
  await apply(page, 'Create zone example.net');
  await page.getByRole('row', { name: /example\.net.*120 s/ }).waitFor();
  await button(page, 'Edit: example.net').click();
  const edit = page.getByRole('dialog', { name: 'Settings of zone example.net' });
  await edit.getByLabel('Name server').fill('ns.example.org.');
  await button(edit, 'Save…').click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('row', { name: /ns\.example\.org\./ }).waitFor();
  assert.equal((await resolver.resolveSoa('example.net')).nsname, 'ns.example.org');
  await button(page, 'Delete zone example.net').click();
  await apply(page, 'Delete zone example.net');
  await page.getByRole('row', { name: /example\.net/ }).waitFor({ state: 'detached' });
  await assert.rejects(resolver.resolveSoa('example.net'), { code: 'EREFUSED' });
});

task('a zone is signed, shows what the registrar asks for, and gets its next key', async (page) => {
  await visit(page, zone);
  const part = page.getByRole('region', { name: 'DNSSEC' });
  await part.getByText('Answers are not signed.').waitFor();
  await button(part, 'Sign the zone…').click();
  const form = page.getByRole('dialog', { name: 'Settings of zone example.com' });
  await form.getByRole('combobox', { name: 'Signed' }).click();
  await page.getByRole('option', { name: 'ecdsap256sha256' }).click();
  await button(form, 'Save…').click();
  await page.getByRole('dialog').getByText('sluice zone set names example.com dnssec=ecdsap256sha256').waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  const ds = part.getByRole('group', { name: /^DS record of key \d+$/ });
  await ds.getByText(/^example\.com\. DS \d+ 13 2 [0-9A-F]{64}$/).waitFor();
  await part.getByText(/^example\.com\. DNSKEY 257 3 13 /).waitFor();
  await picture(page, 'zone-signed');
  assert.equal(await part.getByRole('button', { name: /Delete key/ }).count(), 0); // the active key cannot be deleted
  await button(part, 'Next key…').click();
  await page.getByRole('dialog').getByText('sluice zone key add names example.com').waitFor();
  await apply(page, 'Create the next key of zone example.com');
  await part.getByText('Give its DS record to the registrar now.').waitFor();
  await part.getByRole('button', { name: /Sign with key \d+/ }).click();
  await page.getByRole('dialog').getByText(/resolvers may keep the list of keys of before/).waitFor(); // too early
  await page.keyboard.press('Escape');
  await part.getByRole('button', { name: /Delete key/ }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await part.getByText('Give its DS record to the registrar now.').waitFor({ state: 'detached' });
  assert.equal(await ds.count(), 1);
});

/** Calls the API as the user who is signed in on the page. */
async function api(page, method, path, data) {
  const answer = await page.request.fetch(new URL(`/api/v4.0${path}`, base).href, { method, data });
  assert.ok(answer.ok(), `${method} ${path}: ${answer.status()} ${await answer.text()}`);
  return (await answer.json()).params;
}

task('a zone whose parent has its DS record is unsigned only by somebody who accepts that', async (page) => {
  for (const id of ['test', 'signed.test']) await api(page, 'POST', '/farms/names/zones', { id, dnssec: 'ecdsap256sha256' });
  const { keys } = await api(page, 'GET', '/farms/names/zones/signed.test');
  await api(page, 'POST', '/farms/names/zones/test/resources', { rname: 'signed', type: 'DS', rdata: keys[0].ds });
  await visit(page, 'farms/names/zones/signed.test');
  await button(page, 'Edit: signed.test').click();
  const form = page.getByRole('dialog', { name: 'Settings of zone signed.test' });
  await form.getByRole('combobox', { name: 'Signed' }).click();
  await page.getByRole('option', { name: 'off', exact: true }).click();
  await button(form, 'Save…').click();
  const shown = page.getByRole('dialog').filter({ has: button(page, 'Apply') });
  await shown.getByRole('alert').getByText(/parent zone test\.? has a DS record for it .* resolvers would reject its names/).waitFor();
  assert.ok(await button(shown, 'Apply').isDisabled());
  await shown.getByLabel('Apply anyway').check();
  await shown.getByText('sluice zone set names signed.test dnssec=off --force').waitFor();
  await shown.getByText(/resolvers would reject its names/).waitFor(); // the reason is still shown
  await button(shown, 'Apply').click();
  await page.getByRole('region', { name: 'DNSSEC' }).getByText('Answers are not signed.').waitFor();
  await button(page, 'Delete zone signed.test').click();
  await apply(page, 'Delete zone signed.test');
  await api(page, 'DELETE', '/farms/names/zones/test');
});

task('the records of a long zone come in pages, and are found by the appliance', async (page) => {
  await api(page, 'POST', '/farms/names/zones', { id: 'long.test' });
  const resources = [...Array(228).keys()].map((i) => ({ rname: `p${i}`, type: 'A', rdata: '192.0.2.1' }));
  await api(page, 'POST', '/farms/names/zones/long.test/resources/bulk', { resources });
  const whole = []; // requests whose response has all records
  page.on('request', (r) => {
    const { pathname, searchParams: q } = new URL(r.url());
    if (/v4\.0\/farms\/names(\/zones(\/long\.test)?)?$/.test(pathname) && r.method() === 'GET' && q.get('records') !== 'count') whole.push(r.url());
    if (/v4\.0\/.*\/long\.test\/resources$/.test(pathname) && r.method() === 'GET' && q.get('limit') !== '100') whole.push(r.url());
  });
  await visit(page, 'farms/names/zones/long.test');
  await page.getByText('230 records', { exact: true }).waitFor();
  await page.getByText('Page 1 of 3').waitFor();
  assert.ok(await button(page, 'Previous page').isDisabled());
  await page.getByLabel('Select p0 A').check();
  await button(page, 'Next page').click();
  await page.getByLabel('Select p150 A').check();
  await button(page, 'Delete 2 records').waitFor();
  await button(page, 'Next page').click();
  await page.getByRole('row', { name: /p227/ }).waitFor();
  await page.getByText('Page 3 of 3').waitFor();
  assert.ok(await button(page, 'Next page').isDisabled());
  await button(page, 'Clear selection').click();
  await button(page, 'Delete 2 records').waitFor({ state: 'detached' });
  await page.getByLabel('Find a record').fill('P199 a');
  await page.getByText('1 record', { exact: true }).waitFor();
  await page.getByLabel('Select p199 A').check();
  await page.getByLabel('Find a record').fill('');
  await page.getByText('Page 1 of 3').waitFor();
  await page.getByLabel('Select p1 A').check();
  await button(page, 'Delete 2 records').click();
  await page.getByRole('dialog').getByText(/sluice record bulk names long\.test -/).waitFor();
  await apply(page, 'Delete 2 records');
  await page.getByText('228 records', { exact: true }).waitFor();
  await page.getByRole('row', { name: /^Select p1 A/ }).waitFor({ state: 'detached' });
  // A change by another user is shown.
  await api(page, 'POST', '/farms/names/zones/long.test/resources', { rname: 'other', type: 'TXT', rdata: '"x"' });
  await page.getByText('229 records', { exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Type' }).click();
  await page.getByRole('option', { name: 'TXT' }).click();
  await page.getByRole('row', { name: /other/ }).waitFor();
  await page.getByText('1 record', { exact: true }).waitFor();
  assert.deepEqual(whole, []);
  // A chosen record that another user deletes blocks the others once only.
  await page.getByLabel('Select other TXT').check();
  await page.getByRole('combobox', { name: 'Type' }).click();
  await page.getByRole('option', { name: 'A', exact: true }).click();
  await page.getByLabel('Select p2 A').check();
  await page.getByLabel('Select p3 A').check();
  const [gone] = await api(page, 'GET', '/farms/names/zones/long.test/resources?search=other');
  await api(page, 'DELETE', `/farms/names/zones/long.test/resources/${gone.id}`);
  await button(page, 'Delete 3 records').click();
  await page.getByRole('dialog').getByText(`the resource ${gone.id} does not exist`).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await button(page, 'Delete 2 records').click();
  await apply(page, 'Delete 2 records');
  await page.getByRole('row', { name: /^Select p2 A/ }).waitFor({ state: 'detached' });
  await api(page, 'DELETE', '/farms/names/zones/long.test');
});

task('questions are watched as they come', async (page) => {
  await visit(page, 'farms/names/trace');
  await page.getByLabel('Response code').fill('NXDOMAIN');
  await button(page, 'Watch').click();
  await page.getByText('Waiting for requests…').waitFor();
  const row = page.getByRole('row', { name: /MX nowhere\.example\.com\. NXDOMAIN/ });
  for (let i = 0; i < 40 && (await row.count()) === 0; i++) {
    await resolver.resolveMx('nowhere.example.com').catch(() => {});
    await resolver.resolveSoa('example.com');
    await page.waitForTimeout(250);
  }
  await row.first().waitFor();
  assert.equal(await page.getByRole('row', { name: /SOA/ }).count(), 0);
});
