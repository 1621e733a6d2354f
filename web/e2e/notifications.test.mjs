// Settings of notifications, changed in the GUI of a running appliance.
import { createServer } from 'node:http';
import { after, before } from 'node:test';
import { apply, button, launch, signIn, tasks, visit } from './harness.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());
const task = tasks(() => browser);

task('a webhook is made, its test says what came of it, and it is deleted', async (page) => {
  const receiver = createServer((_, r) => r.writeHead(204).end());
  await new Promise((ready) => receiver.listen(0, '127.0.0.1', ready));
  await signIn(page, 'ann');
  await visit(page, 'notifications');
  await button(page, 'Add a webhook').click();
  await page.getByRole('textbox', { name: 'Name' }).fill('ops');
  await page.getByRole('textbox', { name: 'URL' }).fill('ftp://127.0.0.1/in');
  await page.getByLabel('Secret').fill('a secret of hooks 1');
  await page.getByRole('switch', { name: /backend-down/ }).press('Space');
  await button(page, 'Create…').click();
  await page.getByText('https:// or http:// with a host is needed').waitFor();
  await page.getByRole('textbox', { name: 'URL' }).fill(`http://127.0.0.1:${receiver.address().port}/in`);
  await button(page, 'Create…').click();
  await apply(page, 'Create webhook ops');
  await page.getByRole('row', { name: /ops.*backend-down/ }).waitFor();
  await button(page, 'Test ops').click();
  await page.getByText('ops accepted the message: 204 No Content').waitFor();
  receiver.closeAllConnections();
  await new Promise((closed) => receiver.close(closed));
  await button(page, 'Test ops').click();
  await page.getByRole('alert').getByText('the webhook ops did not take the message').waitFor();
  await button(page, 'Delete ops').click();
  await apply(page, 'Delete webhook ops');
  await button(page, 'Delete ops').waitFor({ state: 'detached' });
});

task('mails: a wrong address is said beside it, a test says what is missing, an alert is switched', async (page) => {
  await signIn(page, 'ann');
  await visit(page, 'notifications');
  await button(page, 'Test Mail').click();
  await page.getByRole('alert').getByText('no mail server is set').waitFor();
  await button(page, 'Edit Mail').click();
  await page.getByRole('textbox', { name: 'From' }).fill('nobody');
  await button(page, 'Save…').click();
  await page.getByText('is no mail address').waitFor();
  await button(page, 'Discard').click();
  await page.keyboard.press('Escape');
  await button(page, 'Disable certificates').click();
  await apply(page, 'Disable certificates');
  await button(page, 'Enable certificates').click();
  await apply(page, 'Enable certificates');
  await button(page, 'Disable certificates').waitFor();
});
