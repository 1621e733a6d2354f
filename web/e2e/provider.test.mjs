// Sign-in through an OpenID Connect provider that was configured in the GUI.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { apply, base, button, issuer, key, launch, tasks, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());
const task = tasks(() => browser);

const through = 'Sign in with your provider';

task('nobody is offered a provider before there is one', async (page) => {
  await page.goto(base);
  await page.getByLabel('User').waitFor();
  assert.equal(await page.getByRole('link', { name: through }).count(), 0);
});

task(
  'a provider is set, its secret shown nowhere',
  async (page) => {
    await visit(page, 'people/signing/oidc');
    await page.getByRole('switch', { name: 'Enabled' }).press('Space');
    await page.getByLabel('Issuer').fill(issuer);
    await page.getByLabel('Authorities').fill('provider');
    await page.locator('[name=client_id]').fill('sluice');
    await page.locator('[name=client_secret]').fill('s3cret of the client');
    await page.locator('[name=redirect]').fill(new URL('/api/v4.0/session/oidc/callback', base).href);
    await page.locator('[name=group_claim]').fill('groups');
    await page.getByRole('textbox', { name: 'Groups' }).fill('ops=ann');
    await button(page, 'Save…').click();
    const dialog = page.getByRole('dialog', { name: 'OpenID Connect' });
    await dialog.getByText('+ client_secret: ***').waitFor();
    assert.ok(!(await dialog.innerText()).includes('s3cret'), 'the secret is shown');
    await apply(page, 'OpenID Connect');
    await page.getByText(/\d+ settings? changed/).waitFor({ state: 'detached' });
  },
  { extraHTTPHeaders: { ZAPI_KEY: key } },
);

task(
  'somebody the provider vouches for comes in where the sign-in was, and may do what the group may',
  async (page) => {
    await page.goto(`${base}farms/shop`);
    await page.getByRole('link', { name: through }).click();
    await page.getByRole('heading', { level: 1, name: 'shop' }).waitFor();
    await button(page, 'olga').waitFor();
    assert.ok(await button(page, 'Stop').isEnabled());
  },
  { also: [issuer] },
);
