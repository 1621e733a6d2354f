// Checks every page in both themes: axe-core finds no violation of WCAG 2.1 AA, and the page is not wider than the
// screen. Takes screenshots on request.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { axe, base, freePort, launch, open, picture, signIn, visit } from './harness.mjs';

export const pages = {
  dashboard: '',
  farms: 'farms',
  'new-farm': 'new-farm',
  farm: 'farms/shop',
  services: 'farms/shop/services',
  service: 'farms/shop/services/all',
  settings: 'farms/shop/settings',
  sessions: 'farms/shop/sessions',
  trace: 'farms/shop/trace',
  log: 'farms/shop/log',
  names: 'farms/names',
  zones: 'farms/names/zones',
  zone: 'farms/names/zones/example.com',
  choosers: 'farms/names/services',
  chooser: 'farms/names/services/web',
  'names-settings': 'farms/names/settings',
  findings: 'findings',
  headroom: 'headroom',
  timeline: 'timeline',
  history: 'history',
  users: 'people',
  groups: 'people/groups',
  roles: 'people/roles',
  role: 'people/roles/monitoring',
  keys: 'people/keys',
  'signed-in': 'people/sessions',
  signing: 'people/signing',
  oidc: 'people/signing/oidc',
  account: 'account',
  notifications: 'notifications',
  audit: 'audit',
  checks: 'checks',
  check: 'checks/check_http',
  certificates: 'certificates',
  authorities: 'certificates/authorities',
  orders: 'certificates/orders',
  ocsp: 'certificates/ocsp',
  system: 'system',
  'system-settings': 'system/settings',
  machine: 'system/machine',
  'machine-ntp': 'system/machine/ntp',
  'machine-http': 'system/machine/http',
  aliases: 'system/aliases',
  geoip: 'system/geoip',
  backups: 'system/backups',
  logs: 'system/logs',
  apidocs: 'apidocs',
  operation: 'apidocs/post-monitoring-fg',
};

/** Creates a gslb farm with a zone, a service and some records. */
async function answersForNames(browser) {
  const { page, end } = await open(browser);
  await signIn(page, 'ann');
  const at = '/farms/names';
  const post = (path, body) => ({ method: 'POST', path, body });
  const writes = [
    post('/farms', { farmname: 'names', profile: 'gslb', vip: '127.0.0.1', vport: Number(await freePort()) }),
    post(`${at}/services`, { id: 'web', algorithm: 'geo' }),
    post(`${at}/services/web/backends`, { ip: '127.0.0.1', nets: ['10.0.0.0/8', '192.0.2.0/24'] }),
    post(`${at}/zones`, { id: 'example.com' }),
    post(`${at}/zones/example.com/resources`, { rname: 'www', type: 'DYNA', rdata: 'web' }),
    post(`${at}/zones/example.com/resources`, { rname: '@', type: 'TXT', rdata: '"v=spf1 ip4:198.51.100.0/24 -all"', comment: 'who may send mail' }),
  ];
  const made = await page.request.post(new URL('/api/v4.0/transactions', base).href, { data: { writes } });
  assert.ok(made.ok(), await made.text());
  await end();
}

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

/** Returns the violations that axe-core finds on a page. Themes differ in colours only. */
async function audit(page, name, first) {
  const runOnly = first ? rules : { type: 'rule', values: ['color-contrast'] };
  const found = await page.evaluate((only) => globalThis.axe.run(document, { runOnly: only, resultTypes: ['violations'] }), runOnly);
  return found.violations.map((v) => `${name}: ${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`).join(' | ')}`);
}

/** Checks a page in each of the themes. */
async function look(page, name, width, themes) {
  await page.addScriptTag({ path: axe });
  await page.addStyleTag({ content: '* { transition: none !important; }' }); // colours in transition would be reported
  const found = [];
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
    found.push(...(await audit(page, `${name}, ${colorScheme}`, colorScheme === themes[0])));
    await picture(page, `${name}-${colorScheme}-${width}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than the screen`);
    const cut = await page.evaluate(() => [...document.querySelectorAll('.mantine-Badge-label, .mantine-Button-label, .mantine-SegmentedControl-root')].filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));
    assert.deepEqual(cut, [], `${name}: texts that are cut off`);
  }
  return found;
}

/** Defines a test that checks every page in each of the themes, for a screen width and a language. */
export function everyPage(width, themes, language = 'en') {
  let browser;
  before(async () => {
    browser = await launch();
    await answersForNames(browser);
  });
  after(() => browser.close());
  test(`every page, ${width} pixels wide`, async () => {
    // The Content-Security-Policy of the pages would block axe-core.
    const { page, end } = await open(browser, { viewport: { width, height: 900 }, bypassCSP: true });
    await page.goto(base);
    await page.getByLabel('User').waitFor();
    const found = await look(page, 'sign-in', width, themes);
    await signIn(page, 'ann');
    await page.evaluate((code) => localStorage.setItem('sluice.language', code), language);
    for (const [name, path] of Object.entries(pages)) {
      await visit(page, path);
      found.push(...(await look(page, name, width, themes)));
    }
    assert.deepEqual(found, []);
    await end();
  });
}
