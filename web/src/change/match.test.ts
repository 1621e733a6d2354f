import { beforeEach, describe, expect, it, vi } from 'vitest';
import { forgetTags, noteTag } from '../api/tags';
import { applyBackup } from '../system/actions';
import { applyChange, isConflict, tryChange, type Change } from './change';

vi.stubGlobal('location', { origin: 'https://appliance' });

/** The If-Match of each write since the last preview. */
const matches: (string | undefined)[] = [];
vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
  const match = (init.headers as Record<string, string>)['If-Match'];
  if (url.includes('dry_run')) return Promise.resolve(new Response('{"params":{"diff":"+ x"}}', { headers: { ETag: '"7"' } }));
  matches.push(match);
  return Promise.resolve(new Response('{"message":"changed"}', { status: match === '"7"' ? 412 : 200 }));
});

/** Every module without pages, whose functions make the changes of the GUI. */
const modules: Record<string, Record<string, unknown>> = import.meta.glob(['../**/*.ts', '!../**/*.test.ts', '!../**/*.d.ts', '!../main.ts', '!../**/queries.ts', '!../change/*.ts', '!../i18n/*.ts', '!../api/*.ts', '!../ui/*.ts', '!../session/*.ts'], { eager: true });

/** The arguments of functions that do not make a change of words alone. */
const t = (key: string) => key;
const certificate = { code: 'certificate-name-missing', farm: 'shop', certificate: 'shop.pem' };
const args: Record<string, unknown[]> = {
  removeCertificate: ['shop.pem', t],
  createRequest: [{ name: 'shop' }, '', () => undefined],
  order: [{ domains: ['example.com'] }, ''],
  setRenewal: ['shop.pem', {}, { autorenewal: 'true' }, ''],
  applyBackup: ['monday', {}, ''],
  createBackup: [{ name: 'monday' }, ''],
  fixes: [certificate, t],
  newFarm: [{ farmname: 'shop', profile: 'http', vip: '192.0.2.1', vport: '80', backends: '192.0.2.2', certificate: '', zone: '' }, ''],
  link: ['check', { farm: 'shop' }, ''],
  unlink: ['check', { farm: 'shop' }, ''],
  removeRecords: ['names', 'example.com', [{ id: 0 }], ''],
  remove: ['', ['farms', 'shop'], ''],
  steps: ['', [{ command: '', method: 'PUT', parts: ['rbac', 'ldap'], sent: {} }], ''],
  removal: ['', '', ['rbac', 'roles', 'ops'], ''],
  createUser: [{ name: 'ann', password: 'secret-1' }, ''],
  setUser: [{ name: 'ann', group: '' }, { webgui_permissions: 'true' }, ''],
  setSource: ['ldap', {}, { host: 'x' }, ''],
};

const isChange = (v: unknown): v is Change => typeof v === 'object' && v !== null && 'send' in v && 'parts' in v;

/** The changes that a function makes; none if it makes something else. */
function made(name: string, make: (...args: unknown[]) => unknown): Change[] {
  const words = Array.from({ length: make.length }, () => 'x');
  try {
    const out = make(...(args[name] ?? words));
    if (out instanceof Promise) void out.catch(() => undefined); // a call without a preview
    return (Array.isArray(out) ? out : [out]).filter(isChange);
  } catch (error) {
    if (args[name]) throw error;
    return []; // it takes more than words
  }
}

const all = Object.entries(modules).flatMap(([file, module]) =>
  Object.entries(module).flatMap(([name, make]) => (typeof make === 'function' && !/^[A-Z]|^use/.test(name) ? made(name, make as never).map((change) => ({ at: `${file} ${name}`, name, change })) : [])),
);

describe('every change', () => {
  beforeEach(() => {
    forgetTags();
    matches.length = 0;
  });
  it('is walked', () => {
    const names = new Set(all.map((c) => c.name));
    expect(Object.keys(args).filter((name) => !names.has(name))).toEqual([]);
    expect(names.size).toBeGreaterThan(45);
  });
  it.each(all)('is made on what the preview showed: $at', async ({ change }) => {
    const tried = await tryChange({ ...change, match: undefined });
    const error: unknown = await applyChange(change, {}, tried.match).catch((e: unknown) => e);
    expect([matches, isConflict(error)]).toEqual([['"7"'], true]);
  });
});

/** All sources, of which only change.ts may wrap the call of a change. */
const sources: Record<string, string> = import.meta.glob(['../**/*.{ts,tsx}', '!../**/*.test.ts', '!./change.ts'], { eager: true, query: '?raw', import: 'default' });

describe('the call of a change', () => {
  it('is wrapped in one place', () => expect(Object.keys(sources).filter((file) => /\.send = |change\.send\(/.test(sources[file]))).toEqual([]));
});

describe('restoring a backup', () => {
  it('is made on the configuration of the preview, although the page shows the backups', async () => {
    noteTag('/system/backup', new Response('', { headers: { ETag: '"3.b"' } }));
    expect((await tryChange(applyBackup('monday', {}, ''))).match).toBe('"7"');
  });
  it('shows the difference of the configuration', async () => {
    const change = applyBackup('monday', {}, '');
    expect(change.difference).toBe('+ monday');
    await tryChange(change);
    expect(change.difference).toBe('+ x');
  });
});
