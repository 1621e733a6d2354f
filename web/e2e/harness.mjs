// What the tests of the GUI share: a browser, people who sign in, and the rule that no
// page ever breaks the policy it is served with.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { chromium } from 'playwright-core';

const env = (name) => process.env[name] ?? assert.fail(`${name} is not set: run these through go test ./cmd/e2e -run GUI`);

/** Where the appliance answers, and its farm. */
export const base = `${env('GUI_URL')}/gui/`;
export const farm = env('GUI_FARM');
/** A certificate with its key, and the authority that issued it, to upload. */
export const pem = env('GUI_PEM');
/** Such a certificate for another name. */
export const otherPEM = env('GUI_OTHER_PEM');
export const authority = env('GUI_CA');
/** A provider of OpenID Connect, whose certificate the appliance has as "provider". */
export const issuer = env('GUI_ISSUER');
export const people = JSON.parse(env('GUI_PEOPLE'));
/** An API key of root, for what is root's alone. */
export const key = env('GUI_KEY');
const shots = process.env.GUI_SHOTS;

export const axe = createRequire(import.meta.url).resolve('axe-core');

/**
 * Chromium without the windows it draws for itself, which cost as much as the pages: Debian's headless shell.
 * Its processes are begun anew and not forked: of those that were, one in some hundred never woke up on busy processors.
 * It trusts every certificate from the start: contexts accept one only after its error, by beginning the request again,
 * and on busy processors that ends in ERR_TOO_MANY_RETRIES.
 */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox', '--ignore-certificate-errors', '--no-zygote', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server'] });
}

/** The errors of requests while a test takes the network away: which one it is depends on how far a request was. */
export const offline = /net::ERR_[A-Z_]+/;

/** A page whose errors fail the test that ends it, but for those that are meant; as do requests to other places than also. */
export async function open(browser, { also = [], meant = [], ...options } = {}) {
  const elsewhere = [new URL(base).origin, ...also];
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-US', viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (e) => problems.push(`script: ${e.message}`));
  page.on('console', (m) => {
    if (m.type() === 'error' && !(m.location().url.includes('/api/') && /status of (4\d\d|503)/.test(m.text()))) problems.push(`console: ${m.text()}`);
  });
  page.on('request', (r) => {
    if (!elsewhere.some((place) => r.url().startsWith(place)) && !r.url().startsWith('data:')) problems.push(`a request leaves for ${r.url()}`);
  });
  page.on('crash', () => problems.push('the page crashed'));
  page.setDefaultTimeout(Number(process.env.GUI_WAIT ?? 60_000));
  return {
    page,
    async end() {
      await context.close();
      assert.deepEqual(problems.filter((p) => !meant.some((pattern) => pattern.test(p))), []);
    },
  };
}

export async function signIn(page, name) {
  await page.goto(base);
  await page.getByLabel('User').fill(name);
  await page.locator('input[type=password]').fill(people[name]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  await page.addLocatorHandler(page.getByRole('dialog', { name: 'Confirm your password' }), async (dialog) => {
    await dialog.locator('input[type=password]').fill(people[name]);
    await dialog.getByRole('button', { name: 'Confirm', exact: true }).click();
  });
}

/** Opens a page and waits until it shows something. */
export async function visit(page, path) {
  await page.goto(base + path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('load');
  await page.waitForFunction(() => !document.querySelector('[class*=Loader]'));
}

/** Makes tests, each in a page of its own. */
export const tasks = (browser) => (name, does, options) =>
  test(name, async () => {
    const { page, end } = await open(browser(), options);
    try {
      await does(page);
    } catch (e) {
      await end().catch((also) => (e.message += `\n${also.message}`));
      throw e;
    }
    await end();
  });

export const button = (page, name) => page.getByRole('button', { name, exact: true });

/** Makes tests, each in a page of its own where somebody has signed in. */
export const signedIn = (browser) => (name, does, who = 'ann', options) =>
  tasks(browser)(
    name,
    async (page) => {
      await signIn(page, who);
      await does(page);
    },
    options,
  );

/** Makes the change a dialog shows, and waits until it is made. */
export async function settle(page, name) {
  await apply(page, name);
  await page.getByRole('dialog', { name }).waitFor({ state: 'detached' });
}

/** A port of loopback nobody listens on. */
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return String(port);
}

/** Makes the change a dialog shows. */
export const apply = (page, name) => page.getByRole('dialog', { name }).getByRole('button', { name: 'Apply' }).click();

/** Keeps a picture to look at, where somebody wants them. */
export async function picture(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}
