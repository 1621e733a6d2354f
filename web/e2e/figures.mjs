// Measures the GUI with many farms. Run by bench/pages, which explains the figures. Each line of its output is one
// figure.
import { chromium } from 'playwright-core';

const { GUI_URL: url, GUI_USER: user, GUI_PASSWORD: password } = process.env;
const minutes = Number(process.env.GUI_MINUTES) || 5;
const base = `${url}/gui/`;

const tell = (Name, Value, Unit, Target = 0, Least = false) => console.log(JSON.stringify({ Name, Value, Unit, Target, Least }));
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', '--no-proxy-server', '--js-flags=--expose-gc'] });

const fresh = () => browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-US', viewport: { width: 1280, height: 900 } });

async function signIn(page) {
  await page.goto(base);
  await page.getByLabel('User').fill(user);
  await page.locator('input[type=password]').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
}

/** Measures the time until a signed-in user sees the farms on the first page, with an empty cache. */
async function firstPaint() {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const context = await fresh();
    const page = await context.newPage();
    await signIn(page);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.clearBrowserCache');
    await page.goto(base, { waitUntil: 'commit' });
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    times.push(await page.evaluate(() => performance.now()));
    await context.close();
  }
  tell('first useful paint, cold cache', median(times), 'ms', 1000);
}

/** Returns the time from a click on a link until the page shows the text. */
async function change(page, link, there) {
  return page.evaluate(
    async ([name, selector, words]) => {
      const target = [...document.querySelectorAll('nav a, a')].find((a) => a.textContent.trim() === name);
      const begun = performance.now();
      target.click();
      while (![...document.querySelectorAll(selector)].some((e) => e.textContent.includes(words))) await new Promise(requestAnimationFrame);
      return performance.now() - begun;
    },
    [link, ...there],
  );
}

async function routes(page) {
  await change(page, 'History', ['h1', 'History']); // loads the page chunks
  await change(page, 'Farms', ['[role=row]', 'farm0000']);
  const [history, dashboard, list] = [[], [], []];
  for (let i = 0; i < 7; i++) {
    dashboard.push(await change(page, 'Dashboard', ['h1', 'Dashboard']));
    list.push(await change(page, 'Farms', ['[role=row]', 'farm0000']));
    history.push(await change(page, 'History', ['h1', 'History']));
  }
  tell('to the dashboard', median(dashboard), 'ms', 150);
  tell('to the history', median(history), 'ms', 150);
  tell('to the list of farms, drawn', median(list), 'ms', 300);
}

/** Measures frames per second while the list is scrolled from top to bottom. */
async function scroll(page) {
  await change(page, 'Farms', ['[role=row]', 'farm0000']);
  const frames = await page.evaluate(async () => {
    const list = document.querySelector('.rows');
    const end = list.scrollHeight - list.clientHeight;
    const begun = performance.now();
    let n = 0;
    for (let at = 0; at < end; at += end / 240) {
      list.scrollTop = at;
      await new Promise(requestAnimationFrame);
      n++;
    }
    return (n * 1000) / (performance.now() - begun);
  });
  tell('frames a second while the list scrolls', frames, 'fps', 55, true);
}

/** Returns the heap size of the page after garbage collection, in MiB. */
async function held(page, cdp) {
  await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
}

async function memory(page, context) {
  await change(page, 'Dashboard', ['h1', 'Dashboard']);
  const cdp = await context.newCDPSession(page);
  await page.waitForTimeout(30_000);
  const before = await held(page, cdp);
  for (let left = minutes * 60; left > 0; left -= 15) {
    await page.mouse.move(100 + (left % 50), 300); // user activity
    await page.keyboard.press('Shift');
    await page.waitForTimeout(15_000);
  }
  const after = await held(page, cdp);
  tell('memory of an open dashboard, after 30 s', before, 'MiB');
  tell(`the same after ${minutes} min more`, after, 'MiB', Math.ceil(before * 1.1));
}

await firstPaint();
const context = await fresh();
const page = await context.newPage();
await signIn(page);
await routes(page);
await scroll(page);
await memory(page, context);
await browser.close();
