// Common tasks of operators, by mouse and keyboard, on a running appliance with traffic.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { base, farm, launch, people, signIn, tasks, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Returns the names of the backends that answer n requests. */
async function answers(n = 8) {
  const names = [];
  for (let i = 0; i < n; i++) names.push(await (await fetch(farm)).text());
  return [...new Set(names)].sort();
}

const task = tasks(() => browser);

task('a wrong password is said to be wrong', async (page) => {
  await page.goto(base);
  await page.getByLabel('User').fill('ann');
  await page.locator('input[type=password]').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('User, password or code is wrong.').waitFor();
});

task('the first page says what is exposed and what changed', async (page) => {
  await signIn(page, 'ann');
  await page.getByRole('link', { name: /shop/ }).first().waitFor();
  await page.getByText(/revision \d+ by/).first().waitFor();
});

task('a backend is drained and used again, and the other one serves meanwhile', async (page) => {
  await signIn(page, 'ann');
  assert.deepEqual(await answers(), ['blue', 'green']);
  await visit(page, 'farms/shop');
  await page.getByRole('row', { name: /blue/ }).getByRole('button', { name: 'Maintenance…' }).click();
  await page.getByRole('menuitem', { name: /Drain/ }).click();
  const dialog = page.getByRole('dialog', { name: /Drain/ });
  await dialog.getByText('maintenance: drain').waitFor();
  await dialog.getByText(/sluice backend maintenance shop all \d --mode drain/).waitFor();
  await dialog.getByText(/curl -k -X PUT/).waitFor();
  await dialog.getByRole('alert').filter({ hasText: 'Takeover' }).waitFor();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('row', { name: /blue/ }).getByText('maintenance').waitFor();
  assert.deepEqual(await answers(), ['green']);
  await page.getByRole('row', { name: /blue/ }).getByRole('button', { name: 'Back in service' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('row', { name: /blue/ }).getByText('up', { exact: true }).waitFor();
  assert.deepEqual(await answers(), ['blue', 'green']);
});

task('a change that nobody confirms counts down, and is taken back by a click', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'farms/shop');
  await page.getByRole('button', { name: 'Stop' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop shop' });
  await dialog.getByText('all its traffic is interrupted').waitFor();
  await dialog.getByRole('combobox', { name: 'Activation' }).click();
  await page.getByRole('option', { name: /within 2 minutes/ }).click();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await page.getByText(/It is reverted in 1?[0-9]?[0-9] seconds/).waitFor();
  await assert.rejects(answers(1));
  await page.getByRole('button', { name: 'Revert now' }).click();
  await page.getByText(/It is reverted in/).waitFor({ state: 'detached' });
  assert.deepEqual(await answers(), ['blue', 'green']);
});

task('the configuration goes back to an earlier revision', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'history');
  const rows = page.getByRole('row').filter({ has: page.getByRole('button', { name: 'Roll back' }) });
  await rows.first().getByRole('button', { name: 'Difference' }).click();
  await page.getByRole('dialog').locator('.diff').waitFor();
  await page.keyboard.press('Escape');
  await rows.first().getByRole('button', { name: 'Roll back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
});

task('a revision is tagged, compared with another one, and its tag removed', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'history');
  await page.getByRole('button', { name: /Tag revision/ }).first().click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('1st');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await page.getByRole('dialog').getByText(/1st.*a letter/i).waitFor();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('before-the-fair');
  await page.getByRole('dialog').getByRole('button', { name: 'Create…' }).click();
  await page.getByText(/sluice tag create before-the-fair \d+/).waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Remove the tag before-the-fair' }).waitFor();
  await page.getByRole('row', { name: /before-the-fair/ }).getByRole('button', { name: 'Difference' }).click();
  await page.getByLabel('Compared with revision').selectOption('1');
  await page.getByRole('dialog').locator('.diff').getByText('alias: blue').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Remove the tag before-the-fair' }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Remove the tag before-the-fair' }).waitFor({ state: 'detached' });
});

task('a farm is restarted', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'farms/shop');
  await page.getByRole('button', { name: 'Restart' }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart shop' });
  await dialog.getByText('all its traffic is interrupted').waitFor();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('Restart shop: done').waitFor();
});

task('a change is guarded, and says which conditions it knows', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'farms/shop');
  await page.getByRole('button', { name: 'Restart' }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart shop' });
  await dialog.getByRole('combobox', { name: 'Activation' }).click();
  await page.getByRole('option', { name: 'Revert automatically if health conditions fail' }).click();
  await dialog.getByLabel('Conditions').fill('nonsense');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByRole('alert').getByText(/guard/).waitFor();
});

task('the first page says which way a request would take', async (page) => {
  await signIn(page, 'ann');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText(/Forwarded by service all → 127\.0\.0\.1/).waitFor();
});

task('a request is explained, rule by rule', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'farms/shop');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText(/Forwarded by service all → 127\.0\.0\.1/).waitFor();
});

task('the state of a backend has its evidence', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'farms/shop');
  await page.getByRole('button', { name: /Why is blue/ }).click();
  await page.getByRole('dialog').getByText(/no health check is linked/).waitFor();
});

task('a farm is found with the keyboard alone', async (page) => {
  await signIn(page, 'ann');
  await page.keyboard.press('Control+k');
  await page.waitForFunction(() => document.activeElement?.closest('[role=dialog]') && document.activeElement.tagName === 'INPUT');
  await page.keyboard.type('sho');
  await page.getByRole('dialog').getByText('shop', { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'shop' }).waitFor();
});

task('what is to be done is found with the keyboard alone, too', async (page) => {
  await signIn(page, 'ann');
  await page.keyboard.press('Control+k');
  await page.waitForFunction(() => document.activeElement?.closest('[role=dialog]') && document.activeElement.tagName === 'INPUT');
  await page.keyboard.type('restart shop');
  await page.getByRole('dialog').getByText('Restart shop').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Restart shop' }).getByText('sluice farm restart shop').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.waitForFunction(() => document.activeElement?.closest('[role=dialog]') && document.activeElement.tagName === 'INPUT');
  await page.keyboard.type('service of shop');
  await page.getByRole('dialog').getByText('service of shop').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name: 'all' }).waitFor();
});

task('who only watches is offered no change', async (page) => {
  await signIn(page, 'bob');
  await visit(page, 'farms/shop');
  for (const name of ['Stop', 'Restart']) assert.ok(await page.getByRole('button', { name, exact: true }).isDisabled(), name);
  assert.ok(await page.getByRole('row', { name: /blue/ }).getByRole('button', { name: 'Maintenance…' }).isDisabled());
});

task('a session that ends leads back to the sign-in', async (page) => {
  await signIn(page, 'ann');
  await page.context().clearCookies(); // the next request is refused
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

task('signing out ends the session', async (page) => {
  await signIn(page, 'ann');
  await page.getByRole('button', { name: 'ann' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await page.goto(base);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

task('the pages speak the language that is chosen, and go on doing so', async (page) => {
  await signIn(page, 'ann');
  await page.getByRole('button', { name: 'Language' }).click();
  await page.getByRole('menuitem', { name: 'Español' }).click();
  await page.getByRole('heading', { level: 1, name: 'Panel' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Panel' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'es');
});

task('what others wrote is text, never a page', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'history');
  await page.getByText(people.script).first().waitFor();
  await visit(page, 'timeline');
  await page.getByText(people.script).first().waitFor();
  assert.equal(await page.evaluate(() => window.broken), undefined);
});
