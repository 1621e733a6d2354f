// Users, groups, roles and sign-in, in the GUI of a running appliance.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before } from 'node:test';
import { encode } from 'uqr';
import { apply, base, button, key, launch, open, people, picture, signIn, tasks, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());
const task = tasks(() => browser);

const asRoot = { extraHTTPHeaders: { ZAPI_KEY: key } };
/** blackOf returns the dark modules of a displayed QR code, row by row, and black those of the QR code of a text. */
const blackOf = async (image) => (await image.locator('path').getAttribute('d')).match(/M\d+ \d+/g).join();
const black = (text) => encode(text, { ecc: 'M', border: 4 }).data.flatMap((row, y) => row.flatMap((is, x) => (is ? [`M${x} ${y}`] : []))).join();
const gone = (page, name) => page.getByRole('dialog', { name }).waitFor({ state: 'detached' });

task('a role is made of another one, and given a permission', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'people/roles');
  assert.ok(await button(page, 'Delete monitoring').isDisabled());
  await button(page, 'Copy: monitoring').click();
  await page.getByRole('textbox', { name: 'Name' }).fill('night');
  await button(page, 'Create…').click();
  await apply(page, 'Create role night');
  await page.getByRole('heading', { level: 2, name: 'night' }).waitFor();
  await page.getByRole('switch', { name: 'farm.maintenance', exact: true }).press('Space');
  await page.getByText('1 permission changed').waitFor();
  await button(page, 'Save…').click();
  const dialog = page.getByRole('dialog', { name: 'Permissions of night' });
  await dialog.getByText('+ farm.maintenance').waitFor();
  await dialog.getByText('sluice role set night farm.maintenance=true').waitFor();
  await apply(page, 'Permissions of night');
  await page.getByText('0 permissions changed').waitFor();
  await page.reload();
  assert.ok(await page.getByRole('switch', { name: 'farm.maintenance', exact: true }).isChecked());
});

task('a user in a group is made, and may do what the role of the group says', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'people/groups');
  await button(page, 'Add a group').click();
  await page.getByRole('textbox', { name: 'Name' }).fill('watchmen');
  await button(page, 'Create…').click();
  await apply(page, 'Create group watchmen');
  const group = page.getByRole('region', { name: 'watchmen' });
  await group.getByText('Without a role its users have no permissions.').waitFor();
  await group.getByLabel('Role: watchmen').selectOption('night');
  await apply(page, 'Role of watchmen: night');
  await gone(page, 'Role of watchmen: night');
  await group.getByLabel('Add: Farms, watchmen').selectOption('shop');
  await apply(page, 'Add shop to watchmen');
  await button(group, 'Remove shop').waitFor();
  await gone(page, 'Add shop to watchmen');
  const all = group.getByLabel('All farms: watchmen');
  await all.click();
  await page.getByRole('dialog').getByText('sluice group set watchmen all_farms=true').waitFor();
  await apply(page, 'Give watchmen access to all farms');
  await gone(page, 'Give watchmen access to all farms');
  await group.getByRole('checkbox', { name: 'All farms: watchmen', checked: true }).waitFor();
  await all.click();
  await apply(page, 'Limit watchmen to the listed farms');
  await group.getByRole('checkbox', { name: 'All farms: watchmen', checked: false }).waitFor();

  await visit(page, 'people');
  await button(page, 'Add a user').click();
  await page.getByRole('textbox', { name: 'Name' }).fill('zed');
  await page.getByLabel('Password', { exact: true }).fill('secret-of-zed-1');
  await page.getByRole('combobox', { name: 'Group' }).click();
  await page.getByRole('option', { name: 'watchmen' }).click();
  await button(page, 'Create…').click();
  const dialog = page.getByRole('dialog', { name: 'Create user zed' });
  await dialog.getByText('sluice user create zed --group watchmen').waitFor();
  assert.ok(!(await dialog.innerText()).includes('secret-of-zed-1'), 'the password is shown');
  await apply(page, 'Create user zed');
  await page.getByRole('row', { name: /zed.*yes.*watchmen/ }).waitFor();
  people.zed = 'secret-of-zed-1';
});

task('who has one permission is offered what it allows, and nothing else', async (page) => {
  await signIn(page, 'zed');
  await visit(page, 'farms/shop');
  assert.ok(await page.getByRole('row', { name: /blue/ }).getByRole('button', { name: 'Maintenance…' }).isEnabled());
  assert.ok(await button(page, 'Stop').isDisabled());
  await visit(page, 'people');
  await page.getByText('The permission “rbac-user.list” is required.').waitFor();
  assert.ok(await button(page, 'Add a user').isDisabled());
  await visit(page, 'notifications');
  for (const name of ['Edit Syslog', 'Add a webhook', 'Disable backends']) assert.ok(await button(page, name).isDisabled(), name);
});

task('what is wrong with a password is said beside it', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'people');
  await button(page, 'Edit zed').click();
  await page.getByLabel('New password').fill('nodigits');
  await button(page, 'Save…').click();
  const field = page.locator('[class*=PasswordInput-root]').filter({ has: page.getByLabel('New password') });
  await field.getByText('at least one letter and one digit are needed').waitFor();
  await page.getByLabel('New password').fill('secret-of-zed-2');
  await button(page, 'Save…').click();
  await apply(page, 'Edit user zed');
  await button(page, 'Save…').waitFor({ state: 'detached' });
  people.zed = 'secret-of-zed-2';
});

/** Returns the current one-time code of a secret (RFC 6238). */
function codeOf(secret) {
  const bits = [...secret].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('');
  const bytes = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const hash = createHmac('sha1', bytes).update(time).digest();
  return String((hash.readUInt32BE(hash[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

task('a second factor is enrolled, its codes are shown when the session ends, and one of them lets in', async (page) => {
  await signIn(page, 'zed');
  await visit(page, 'account');
  const part = page.getByRole('region', { name: 'Second factor' });
  await part.getByLabel('Your password').fill('wrong');
  await button(part, 'Enrol an app').click();
  await part.getByText('password is not the one in force').waitFor();
  await part.getByLabel('Your password').fill(people.zed);
  await button(part, 'Enrol an app').click();
  const uri = await part.getByText(/^otpauth:\/\/totp\//).innerText();
  assert.equal(await blackOf(part.getByRole('img', { name: 'QR code for authenticator apps' })), black(uri));
  await picture(page, 'second-factor');
  await part.getByRole('textbox', { name: 'Code' }).fill(codeOf(await part.getByRole('group', { name: 'Secret' }).innerText()));
  await button(part, 'Confirm').click();
  const codes = (await page.getByRole('dialog', { name: 'Recovery codes' }).getByRole('group').innerText()).split('\n');
  assert.equal(codes.length, 10);
  await page.getByText('Sign in to Sluice').waitFor(); // the session ended
  await page.getByRole('dialog', { name: 'Recovery codes' }).getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('User').fill('zed');
  await page.locator('input[type=password]:visible').fill(people.zed); // the previous page is hidden, and its secrets are deleted
  assert.deepEqual(await page.locator('input[type=password]:not(:visible)').evaluateAll((all) => all.map((e) => e.value).filter(Boolean)), []);
  await page.getByLabel('Code').filter({ visible: true }).fill(codes[0]);
  await button(page, 'Sign in').click();
  await page.getByText('9 recovery codes left').waitFor();
});

task('a session elsewhere is ended from the own account', async (page) => {
  await signIn(page, 'bob');
  const other = await open(browser);
  await signIn(other.page, 'bob');
  await visit(page, 'account');
  await page.getByRole('region', { name: 'Your sessions' }).getByRole('row').nth(2).waitFor();
  await button(page, 'Sign out all others').click();
  await page.getByText(/sessions? ended/).waitFor();
  await other.page.getByRole('button', { name: 'Sign in' }).waitFor();
  await other.end();
});

task('the second factor of somebody who lost it is taken away, and the user deleted', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'people');
  await button(page, 'Remove second factor: zed').click();
  await apply(page, 'Remove the second factor of zed');
  await button(page, 'Remove second factor: zed').waitFor({ state: 'detached' });
  await button(page, 'Delete zed').click();
  await apply(page, 'Delete user zed');
  await button(page, 'Delete zed').waitFor({ state: 'detached' });
});

task(
  'an API key is shown once, lets a program in, and is deleted',
  async (page) => {
    await visit(page, 'people/keys');
    await button(page, 'Add an API key').click();
    await page.getByLabel('Purpose').fill('monitoring');
    await button(page, 'Create the key').click();
    const dialog = page.getByRole('dialog', { name: /^Key \d/ });
    const made = await dialog.getByRole('group', { name: 'API key' }).innerText();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(made), 'the key is shown again');
    const farms = async () => (await page.request.get(base.replace('/gui/', '/api/v4.0/farms'), { headers: { ZAPI_KEY: made } })).status();
    assert.equal(await farms(), 200);
    const row = page.getByRole('row', { name: /monitoring/ });
    await row.getByRole('button', { name: /Delete key/ }).click();
    await apply(page, /Delete key/);
    await row.waitFor({ state: 'detached' });
    assert.equal(await farms(), 401);
  },
  asRoot,
);

task(
  'a directory is set, its password shown nowhere, tested, and its users let in',
  async (page) => {
    await visit(page, 'people/signing');
    await page.getByRole('switch', { name: 'LDAP users' }).press('Space');
    await button(page, 'Save…').click();
    await page.getByText(/there is no directory to ask/).waitFor();
    await button(page, 'Discard').click();
    await page.getByRole('tab', { name: 'Directory (LDAP)' }).click();
    await page.getByLabel('Host').fill('127.0.0.1');
    await page.getByLabel('Port').fill('1');
    await page.getByLabel('Base DN').fill('dc=example,dc=com');
    await page.getByLabel('Filter').fill('uid=nobody');
    await button(page, 'Save…').click();
    await page.getByText(/does not say where the name of the user goes/).waitFor();
    await page.getByLabel('Filter').fill('(uid=%s)');
    await page.getByLabel('Bind DN').fill('cn=search,dc=example,dc=com');
    await page.locator('[name=bind_password]').fill('hidden-1');
    await button(page, 'Save…').click();
    const dialog = page.getByRole('dialog', { name: 'Directory (LDAP)' });
    await dialog.getByText('+ bind_password: ***').waitFor();
    assert.ok(!(await dialog.innerText()).includes('hidden-1'), 'the password is shown');
    await apply(page, 'Directory (LDAP)');
    await page.getByText(/\d+ settings? changed/).waitFor({ state: 'detached' });
    await picture(page, 'directory');
    await button(page, 'Test the directory').click();
    await page.getByRole('alert').getByText(/refused/).waitFor();
    const users = page.getByRole('switch', { name: 'LDAP users' });
    for (const may of [true, false]) {
      await page.getByRole('tab', { name: 'Users', exact: true }).last().click();
      await users.press('Space');
      await button(page, 'Save…').click();
      await apply(page, 'Users');
      await page.getByText(/\d+ settings? changed/).waitFor({ state: 'detached' });
      await page.reload();
      assert.equal(await users.isChecked(), may);
    }
  },
  asRoot,
);

task('who is not root may not say who signs in', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'people/signing/oidc');
  await page.getByText('Only root may see this.').waitFor();
});

task('the audit log finds who did what, and is exported', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'audit');
  await page.getByRole('textbox', { name: 'Find', exact: true }).fill('rbac/users/zed');
  await page.getByRole('row', { name: /ann.*Delete a user/ }).waitFor();
  await page.getByLabel('Refused only').press('Space');
  await page.getByRole('row', { name: /newpassword/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /Delete a user/ }).count(), 0);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export all' }).click()]);
  assert.equal(file.suggestedFilename(), 'audit.jsonl');
});
