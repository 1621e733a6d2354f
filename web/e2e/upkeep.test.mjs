// Maintenance of an appliance: certificates, health checks, backups, settings of the machine, logs, and the
// documentation of the API.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before } from 'node:test';
import { connect } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { authority, base, farm, freePort, key, launch, open, otherPEM, pem, settle as apply, signIn, signedIn, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const task = signedIn(() => browser);

/** Returns the fingerprint of the certificate that a port serves. */
const served = (port) =>
  new Promise((done, failed) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      done(socket.getPeerX509Certificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', failed);
  });

task('a certificate is uploaded, listed, used by a new farm, and kept while it is', async (page) => {
  await visit(page, 'certificates');
  await page.getByRole('button', { name: 'Upload a certificate' }).click();
  await page.locator('input[type=file]').setInputFiles(pem);
  await page.getByRole('textbox', { name: /^Name/ }).fill('fresh');
  await page.getByRole('dialog').getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('The certificate fresh.pem has been uploaded.').waitFor();
  await page.getByRole('row', { name: /fresh\.pem/ }).getByText(/\d+ days?$/).waitFor();
  await page.getByRole('region', { name: 'Expiry' }).getByText('fresh.pem').waitFor();

  const port = await freePort();
  await visit(page, 'new-farm');
  await page.getByText('HTTPS', { exact: true }).click();
  await page.getByLabel('Farm').fill('safe');
  await page.getByRole('combobox', { name: 'Virtual address' }).fill('127.0.0.1');
  await page.getByLabel('Virtual port').fill(String(port));
  await page.getByRole('combobox', { name: 'Certificate' }).click();
  await page.getByRole('option', { name: 'fresh.pem' }).click();
  await page.getByRole('button', { name: 'Create…' }).click();
  await apply(page, 'Create farm safe');
  await page.getByRole('heading', { level: 1, name: 'safe' }).waitFor();
  const fingerprint = (file) => new X509Certificate(readFileSync(file)).fingerprint256;
  assert.equal(await served(port), fingerprint(pem));

  await visit(page, 'certificates');
  await page.getByRole('row', { name: /fresh\.pem/ }).getByText('safe').waitFor();
  await page.getByRole('button', { name: 'Details of fresh.pem' }).click();
  await page.getByRole('button', { name: 'Replace…' }).click();
  const replacing = page.getByRole('dialog', { name: 'Replace fresh.pem' });
  const send = replacing.getByRole('button', { name: 'Upload', exact: true });
  await replacing.locator('input[type=file]').setInputFiles(otherPEM);
  await send.click();
  await replacing.getByText('-shop.example').waitFor();
  await replacing.getByText('+other.example').waitFor();
  await replacing.getByRole('alert').getByText(/no certificate covers shop\.example \(service .* of farm safe\) then/).waitFor();
  assert.ok(await send.isDisabled());
  assert.equal(await served(port), fingerprint(pem));
  // If a colleague replaces it meanwhile, theirs stays, and the names are shown anew.
  const theirs = await page.request.fetch(new URL('/api/v4.0/certificates/fresh.pem', base).href, { method: 'PUT', data: readFileSync(otherPEM), headers: { 'Content-Type': 'application/x-pem-file' }, params: { force: 'true' } });
  assert.ok(theirs.ok());
  await replacing.getByLabel('Apply anyway').check();
  await send.click();
  await replacing.getByRole('alert').getByText('fresh.pem has been replaced meanwhile').waitFor();
  assert.equal(await served(port), fingerprint(otherPEM));
  const ours = await page.request.fetch(new URL('/api/v4.0/certificates/fresh.pem', base).href, { method: 'PUT', data: readFileSync(pem), headers: { 'Content-Type': 'application/x-pem-file' }, params: { force: 'true' } });
  assert.ok(ours.ok());
  await send.click();
  await replacing.getByText('-shop.example').waitFor();
  await replacing.getByLabel('Apply anyway').check();
  await send.click();
  await replacing.waitFor({ state: 'detached' });
  assert.equal(await served(port), fingerprint(otherPEM));
  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.getByText('The certificate that fresh.pem replaced is in use again.').waitFor();
  assert.equal(await served(port), fingerprint(pem));

  await visit(page, 'certificates');
  await page.getByRole('button', { name: 'Details of fresh.pem' }).click();
  const details = page.getByRole('dialog', { name: 'fresh.pem', exact: true });
  await details.getByText(/^other\.example, until /).waitFor(); // the replaced one is kept
  await details.getByRole('button', { name: 'Restore the previous one…' }).click();
  const back = page.getByRole('dialog', { name: 'Restore the certificate that fresh.pem replaced' });
  await back.getByText('sluice certificate restore fresh.pem').waitFor();
  await back.getByText('-shop.example').waitFor();
  assert.ok(await back.getByRole('button', { name: 'Apply' }).isDisabled());
  await back.getByLabel('Apply anyway').check();
  await back.getByRole('button', { name: 'Apply' }).click();
  await back.waitFor({ state: 'detached' });
  assert.equal(await served(port), fingerprint(otherPEM));
  await visit(page, 'findings');
  await page.getByText(/no certificate of the farm covers shop\.example/).waitFor();
  await visit(page, 'certificates');
  await page.getByRole('button', { name: 'Delete fresh.pem' }).click();
  await page.getByRole('dialog').getByText(/in use.*safe/).waitFor();
  assert.ok(await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).isDisabled());
  await visit(page, 'farms/safe');
  await page.getByRole('button', { name: 'Delete', exact: true }).first().click();
  await apply(page, 'Delete safe');
  await page.getByRole('heading', { level: 1, name: 'Farms' }).waitFor();
  await visit(page, 'certificates');
  await page.getByRole('button', { name: 'Delete fresh.pem' }).click();
  await apply(page, 'Delete fresh.pem');
  await page.getByText('Delete fresh.pem: done').waitFor();
});

task('what is no certificate is refused in the words of the appliance', async (page) => {
  await visit(page, 'certificates');
  await page.getByRole('button', { name: 'Upload a certificate' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Paste', { exact: true }).click();
  await dialog.getByLabel('PEM file').fill('hello');
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('wrong');
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
  await dialog.getByText(/the upload has no certificate in PEM/).waitFor();
  await dialog.getByText('Parts', { exact: true }).click();
  await dialog.getByRole('textbox', { name: 'Certificate', exact: true }).fill(new X509Certificate(readFileSync(pem)).toString());
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
  await dialog.getByText(/the upload has no private key/).waitFor();
});

task('a CSR is made, shown, and deleted', async (page) => {
  await visit(page, 'certificates');
  await page.getByRole('button', { name: 'New CSR' }).click();
  const form = page.getByRole('dialog', { name: 'New CSR' });
  await form.getByRole('textbox', { name: /^Name/ }).fill('signed');
  const fields = { 'Host name': 'www.example.com', Country: 'Germany', 'State or province': 'Bavaria', City: 'Ulm', Organization: 'Example Ltd', Unit: 'Web', 'Mail address': 'ops@example.com' };
  for (const [label, value] of Object.entries(fields)) await form.getByLabel(label).first().fill(value);
  await form.getByRole('button', { name: 'Create…' }).click();
  await form.getByText(/country must be two letters/).waitFor();
  await form.getByLabel('Country').fill('DE');
  await form.getByRole('button', { name: 'Create…' }).click();
  await page.getByRole('dialog', { name: 'Create CSR signed' }).getByText('sluice certificate csr signed').first().waitFor();
  await apply(page, 'Create CSR signed');
  await form.getByText('-----BEGIN CERTIFICATE REQUEST-----').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Delete signed.csr' }).click();
  await apply(page, 'Delete signed.csr');
  await page.getByRole('row', { name: /signed\.csr/ }).waitFor({ state: 'detached' });
});

task('authorities are uploaded, and deleted', async (page) => {
  await visit(page, 'certificates/authorities');
  await page.getByRole('button', { name: 'Upload authorities' }).click();
  const dialog = page.getByRole('dialog', { name: 'Upload authorities' });
  const send = dialog.getByRole('button', { name: 'Upload', exact: true });
  await page.locator('input[type=file]').setInputFiles({ name: 'clients.pem', mimeType: 'application/x-pem-file', buffer: Buffer.from('no authority') });
  await send.click();
  await dialog.getByText(/no certificate in PEM/).waitFor();
  await page.locator('input[type=file]').setInputFiles({ name: 'clients.pem', mimeType: 'application/x-pem-file', buffer: Buffer.from(readFileSync(authority)) });
  await send.click();
  await page.getByRole('row', { name: /^clients/ }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download: clients' }).click()]);
  assert.match(readFileSync(await download.path(), 'utf8'), /BEGIN CERTIFICATE/);
  await page.getByRole('button', { name: 'CRL…: clients' }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'crl.pem', mimeType: 'application/x-pem-file', buffer: Buffer.from('no CRL') });
  await page.getByRole('dialog').getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByRole('dialog').getByText(/CRL/i).last().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Delete clients' }).click();
  await apply(page, 'Delete clients');
  await page.getByRole('row', { name: /^clients/ }).waitFor({ state: 'detached' });
});

task('an order that cannot be is refused before anybody is asked', async (page) => {
  await visit(page, 'certificates/orders');
  await page.getByRole('button', { name: 'Order a certificate' }).click();
  const form = page.getByRole('dialog', { name: 'Order a certificate' });
  await form.getByLabel('Domains').fill('www.example.com');
  await form.getByRole('button', { name: 'Order…' }).click();
  await form.getByText(/vip or farmname is needed/).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Account…' }).click();
  const account = page.getByRole('dialog', { name: /^ACME account and authority/ });
  await account.getByLabel('Mail address').fill('nobody');
  await account.getByRole('button', { name: 'Save…' }).click();
  await account.getByText(/"nobody" is no mail address/).waitFor();
  await account.getByRole('button', { name: 'Discard' }).click();
});

task('a check is made of a template, tried, linked, kept while it is used, and deleted', async (page) => {
  const backend = new URL(farm).port; // of an existing server
  await visit(page, 'checks');
  await page.getByRole('button', { name: 'Copy: check_tcp', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Copy of check_tcp' });
  await form.getByLabel('Name').fill('bad name');
  await form.getByRole('button', { name: 'Create…' }).click();
  await form.getByText(/name must be a name of letters/).waitFor();
  await form.getByLabel('Name').fill('alive');
  await form.getByRole('button', { name: 'Create…' }).click();
  await apply(page, 'Create check alive');
  await page.getByRole('heading', { level: 1, name: 'alive' }).waitFor();

  await page.getByRole('button', { name: 'Test', exact: true }).click();
  const trial = page.getByRole('dialog', { name: 'Test alive' });
  await trial.getByLabel('Address or host name').fill('127.0.0.1');
  await trial.getByRole('textbox', { name: 'Port' }).fill('70000');
  await trial.getByRole('button', { name: 'Test now' }).click();
  await trial.getByText(/port must be/).waitFor();
  await trial.getByRole('textbox', { name: 'Port' }).fill(backend);
  await trial.getByRole('button', { name: 'Test now' }).click();
  await trial.getByText('127.0.0.1 is healthy').waitFor();
  await trial.getByText(`connected to 127.0.0.1:${backend}`).waitFor();
  await trial.getByRole('textbox', { name: 'Port' }).fill(String(await freePort()));
  await trial.getByRole('button', { name: 'Test now' }).click();
  await trial.getByText('127.0.0.1 is not healthy').waitFor();
  await page.keyboard.press('Escape');

  await page.getByRole('combobox', { name: 'Farm' }).click();
  await page.getByRole('option', { name: 'shop' }).click();
  await page.getByRole('combobox', { name: 'Service' }).click();
  await page.getByRole('option', { name: 'all' }).click();
  await page.getByRole('button', { name: 'Link…' }).click();
  await page.getByRole('dialog', { name: 'Link to shop / all' }).getByText('sluice check link alive shop all').waitFor();
  await apply(page, 'Link to shop / all');
  const save = page.getByRole('button', { name: 'Save…' });
  await page.getByRole('textbox', { name: /^Command/ }).fill('check_tcp -H HOST -p PORT -t 2');
  await save.click();
  await page.getByText(/change with force true/).waitFor();
  await page.getByRole('switch', { name: 'Force' }).press(' ');
  await save.click();
  await apply(page, 'Settings of check alive');
  await page.getByText(/\d+ settings? changed/).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete check alive' }).getByText(/is in use: unlink it first from shop_all/).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Unlink from shop / all' }).click();
  await apply(page, 'Unlink from shop / all');
  await page.getByRole('button', { name: 'Unlink from shop / all' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await apply(page, 'Delete check alive');
  await page.getByRole('heading', { level: 1, name: 'Health checks' }).waitFor();
});

task('a backup is made, listed, downloaded, uploaded again, and deleted', async (page) => {
  await visit(page, 'system/backups');
  await page.getByRole('button', { name: 'Create a backup' }).click();
  const form = page.getByRole('dialog', { name: 'Create a backup' });
  await form.getByLabel('Name').fill('monday');
  await form.getByLabel('Passphrase').fill('short');
  await form.getByRole('button', { name: 'Create…' }).click();
  await form.getByText(/12 to 512 bytes/).waitFor();
  await form.getByLabel('Passphrase').fill('');
  await form.getByRole('button', { name: 'Create…' }).click();
  await apply(page, 'Create backup monday');
  await page.getByRole('row', { name: /monday/ }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download: monday' }).click()]);
  assert.equal(download.suggestedFilename(), 'monday.tar.gz');
  const archive = await download.path();
  await page.getByRole('button', { name: 'Upload a backup' }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'again.tar.gz', mimeType: 'application/gzip', buffer: readFileSync(archive) });
  await page.getByRole('dialog').getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('The backup again has been uploaded.').waitFor();
  await page.getByRole('button', { name: 'Restore backup again' }).click();
  await page.getByRole('dialog').getByText(/saved as the backup before-restore/).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Restore…' }).click();
  const command = page.getByText('sluice backup apply again', { exact: true });
  await command.waitFor();
  await page.keyboard.press('Escape'); // Escape closes one dialog at a time
  await command.waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  for (const name of ['monday', 'again']) {
    await page.getByRole('button', { name: `Delete backup ${name}` }).click();
    await apply(page, `Delete backup ${name}`);
    await page.getByRole('button', { name: `Delete backup ${name}` }).waitFor({ state: 'detached' });
  }
});

task('settings of appliance and machine are refused at their field, and saved', async (page) => {
  await visit(page, 'system/settings');
  const field = page.getByLabel('Session timeout');
  await field.fill('20000');
  await page.getByRole('button', { name: 'Save…' }).click();
  await page.getByText(/a number of minutes from 1 to 1440/).waitFor();
  for (const minutes of ['31', '30']) {
    await field.fill(minutes);
    await page.getByRole('button', { name: 'Save…' }).click();
    await page.getByRole('dialog').getByText(`sluice system config session_timeout=${minutes}`).waitFor();
    // The login was a while ago: the GUI asks for the password, and sends the change again.
    const sent = [];
    await page.route('**/api/v4.0/system/global*', (route) => {
      if (route.request().method() !== 'PUT' || route.request().url().includes('dry_run')) return route.continue();
      sent.push(minutes);
      return sent.length === 1 ? route.fulfill({ status: 403, json: { code: 'confirm_session', message: 'confirm your password first' } }) : route.continue();
    });
    await apply(page, 'Settings');
    assert.equal(sent.length, 2);
    await page.unroute('**/api/v4.0/system/global*');
    await page.getByText(/\d+ settings? changed/).waitFor({ state: 'detached' });
    await page.reload();
    await field.waitFor();
    assert.equal(await field.inputValue(), minutes);
  }
  await visit(page, 'system/machine/syslog');
  await page.getByLabel('Servers').fill('ftp://192.0.2.1');
  await page.getByRole('button', { name: 'Save…' }).click();
  await page.getByText(/servers.*ftp/).last().waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
});

task('an alias is given, and taken away', async (page) => {
  await visit(page, 'system/aliases');
  await page.getByRole('button', { name: 'Add: Aliases of backends' }).click();
  const form = page.getByRole('dialog', { name: 'Aliases of backends' });
  await form.getByLabel('Object').fill('no address');
  await form.getByLabel('Alias').fill('db-1');
  await form.getByRole('button', { name: 'Create…' }).click();
  await form.getByText(/id must be/).waitFor();
  await form.getByLabel('Object').fill('192.0.2.77');
  await form.getByRole('button', { name: 'Create…' }).click();
  await apply(page, 'Alias of 192.0.2.77');
  await page.getByRole('row', { name: /192\.0\.2\.77/ }).getByText('db-1').waitFor();
  await page.getByRole('button', { name: 'Delete the alias of 192.0.2.77' }).click();
  await apply(page, 'Delete the alias of 192.0.2.77');
  await page.getByRole('row', { name: /192\.0\.2\.77/ }).waitFor({ state: 'detached' });
});

task('of a long list only what is looked at is drawn, and all of it is there', async (page) => {
  const many = [...Array(250).keys()].map((n) => `198.51.100.${n}`);
  const writes = (of) => page.request.post(new URL('/api/v4.0/transactions', base).href, { headers: { ZAPI_KEY: key }, data: { writes: many.map(of) } });
  assert.equal((await writes((id, n) => ({ method: 'POST', path: '/aliases/backends', body: { id, alias: `rack-${n}` } }))).status(), 200);
  await visit(page, 'system/aliases');
  const table = page.getByRole('region', { name: 'Aliases of backends' }).getByRole('table');
  const rows = table.locator('tbody tr[aria-rowindex]');
  await rows.first().waitFor();
  assert.equal(await table.getAttribute('aria-rowcount'), '251');
  const length = await page.evaluate(() => document.body.scrollHeight);
  const met = new Set();
  for (let at = 0; at <= length; at += 400) {
    await page.evaluate((to) => window.scrollTo(0, to), at);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const shown = await rows.evaluateAll((all) => all.map((r) => r.cells[0].textContent));
    assert.ok(shown.length < 100, `${shown.length} rows are drawn`);
    for (const one of shown) met.add(one);
  }
  assert.equal(met.size, 250);
  await page.getByText('rack-249').waitFor();
  assert.equal((await writes((id) => ({ method: 'DELETE', path: `/aliases/backends/${id}` }))).status(), 200);
});

task('a log is watched', async (page) => {
  await visit(page, 'system/logs');
  await page.getByRole('button', { name: 'Show: sluice-audit.log' }).click();
  const lines = page.getByRole('log', { name: 'sluice-audit.log' });
  await lines.getByText(/Log in/).waitFor();
  const { page: other, end } = await open(browser);
  await signIn(other, 'bob');
  await end();
  await lines.getByText(/"user":"bob"/).waitFor();
});

task('the documentation of the API finds an operation, and has its call', async (page) => {
  await visit(page, 'apidocs');
  await page.getByLabel('Find an operation or a field').fill('health check run');
  await page.getByRole('link', { name: /\/monitoring\/fg\/\{check\}\/run/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Test a health check against a server' }).waitFor();
  await page.getByText(/curl -k -X POST .*"host":"10\.0\.0\.11"/).waitFor();
  await page.getByRole('row', { name: /^port/ }).first().getByText('1…65535').waitFor();
});

task('who only watches is offered no change, and is told what is not shown', async (page) => {
  await visit(page, 'checks');
  assert.ok(await page.getByRole('button', { name: 'New check' }).isDisabled());
  await visit(page, 'certificates');
  await page.getByText('The permission “certificate.show” is required.').waitFor();
  await visit(page, 'system/backups');
  await page.getByText('The permission “backup.menu” is required.').waitFor();
  await visit(page, 'system/settings');
  await page.getByText('You can view these settings, but not change them.').waitFor();
}, 'bob');

/** A database with two networks in the MaxMind DB format: 10.1.0.0/16 in Germany, 10.2.0.0/16 in the United States. */
const places = gunzipSync(
  Buffer.from(
    'H4sIAAAAAAACA13RyVPTYBjH8beI+66ouMcdN9xx1wJFWxDUIoqixpC8tsE2qUmK1hUX3Pcd3Kh68+SMB4/iWf4HES+OB0/ejV/A7ZnMZ37zvnnyzvtEiIAQr4TIwT5CXBAil9wX+2F/HIADcRAOxiE4FIfhcByBI3EUjsY8HINjcRzm43icgBNxEk7GKTgVFZyG03EGzsRZOBvnYAHOxXk4HxfgQizERbgYl+BSXIbLcQUW4UpchatxDa7FdbgeN+BGDGIxlmAphrAMN+FmDGMEy7ECt2AlVuFW3IbbhTgiRJRcjTuwBnfiLqzF3bgH63Av7sP9qOIB1LBeiMNC6GQD/UcKcbA3x4SIE0xswEOYwCRaaAuRIrwVgVDvFxx00cM0Nv4ycIx8FDPYvXIcT+BJPIWnsQnP4Fk8h+exufeaFwmX8DJewat4Da/jDbyJt/A23hHiJeGuEPcI9/EBPsRH2IKt+Bif4FN8hs+xDbP44q8/0u2/9SWi25ZnWtLyOkO6bciSsprNup22PCfzuTwmbUtLStU02gNh07VV3giVhRO2rnmmbXVt1XQ97Wh6RnU0w0y72bxwwt/x0oaMB8MjvzVPeReNJGwr1rM0p+DHh5t750YdGTNdTzrSUHtO61TmldTWflECncqQkqpiJe+zMrk94C/WVCtFXUowm6dE48HQ7ha/WhUj/j7axA2UI8oVv0sZ/KdjU/SvjnDio18dfkcw52N39Dted3yv1I5WmpZRqNvJr3X1pqU5GfWg7SQ1T01qDbajNkrH9e+Yzfl/17T+7LZV1KfNhKHKlK3Hc3Ma3qxtqjQ0T6vXXKl6mZSM7JCut7DU9DIVhnR1x0z9GtyncjP1+4B+kYRmxdJaTLoit9zyZ9w9lPZXFY7UbcdQXfOYzOb/BNNQMhKVBQAA',
    'base64',
  ),
);

task('a GeoIP database is uploaded, asked where an address is, and deleted', async (page) => {
  await visit(page, 'system/geoip');
  await page.getByText('No database yet.', { exact: false }).waitFor();
  await page.locator('input[type=file]').setInputFiles({ name: 'text.mmdb', mimeType: 'application/octet-stream', buffer: Buffer.from('text') });
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText(/is not taken: it is no database/).waitFor();
  await page.locator('input[type=file]').setInputFiles({ name: 'city.mmdb', mimeType: 'application/octet-stream', buffer: places });
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByRole('row', { name: /Test-City/ }).waitFor();
  await page.getByRole('textbox', { name: 'Address' }).fill('10.1.2.3');
  await page.getByRole('region', { name: 'Look up an address' }).getByRole('button').click();
  await page.getByText('10.1.2.3 is in DE, EU. Network: 10.1.0.0/16 (48.1400,11.5800)').waitFor();
  await page.getByRole('button', { name: 'Delete the GeoIP database' }).click();
  await apply(page, 'Delete the GeoIP database');
  await page.getByText('No database yet.', { exact: false }).waitFor();
});
