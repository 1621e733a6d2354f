// Shared by the tests of the GUI: the browser, sign-in, and the check that no page violates its
// Content-Security-Policy.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { chromium } from 'playwright-core';

const env = (name) => process.env[name] ?? assert.fail(`${name} is not set: run these through go test ./cmd/e2e -run GUI`);

/** URL of the GUI, and URL of its farm. */
export const base = `${env('GUI_URL')}/gui/`;
export const farm = env('GUI_FARM');
/** A certificate with its key and the issuing authority, for uploads. */
export const pem = env('GUI_PEM');
/** The same for another name. */
export const otherPEM = env('GUI_OTHER_PEM');
export const authority = env('GUI_CA');
/** An OpenID Connect provider. The appliance has its certificate as "provider". */
export const issuer = env('GUI_ISSUER');
export const people = JSON.parse(env('GUI_PEOPLE'));
/** An API key of root, for operations that only root may call. */
export const key = env('GUI_KEY');
const shots = process.env.GUI_SHOTS;

export const axe = createRequire(import.meta.url).resolve('axe-core');

/**
 * Launches Debian's headless shell of Chromium, which does not draw browser windows; they cost as much CPU as the
 * pages. Processes are started without the zygote: about one in a hundred forked processes hung on busy machines. The
 * browser accepts all certificates from the start. A context accepts one only after an error, by repeating the request,
 * and on busy machines that ends in ERR_TOO_MANY_RETRIES.
 */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox', '--ignore-certificate-errors', '--no-zygote', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server'] });
}

/**
 * Matches the errors of requests while a test disconnects the network. The error depends on the progress of the
 * request.
 */
export const offline = /net::ERR_[A-Z_]+/;

/**
 * Opens a page. end fails if the page had errors other than the expected ones (meant), or sent requests to other
 * origins than the appliance and also.
 */
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

/** Opens a page and waits until it has loaded its data. */
export async function visit(page, path) {
  await page.goto(base + path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('load');
  await page.waitForFunction(() => !document.querySelector('[class*=Loader]'));
}

/** Returns a function that defines tests, each with its own page. */
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

/** Returns a function that defines tests, each with its own page and a signed-in user. */
export const signedIn = (browser) => (name, does, who = 'ann', options) =>
  tasks(browser)(
    name,
    async (page) => {
      await signIn(page, who);
      await does(page);
    },
    options,
  );

/** Applies the change in a dialog, and waits until the dialog has closed. */
export async function settle(page, name) {
  await apply(page, name);
  await page.getByRole('dialog', { name }).waitFor({ state: 'detached' });
}

/** Returns an unused port of the loopback address. */
export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return String(port);
}

/** Applies the change in a dialog. */
export const apply = (page, name) => page.getByRole('dialog', { name }).getByRole('button', { name: 'Apply' }).click();

/** Takes a screenshot if GUI_SHOTS is set. */
export async function picture(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}
