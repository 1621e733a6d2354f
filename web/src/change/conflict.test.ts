import { beforeEach, describe, expect, it, vi } from 'vitest';
import { forgetTags, noteTag, tagOf } from '../api/tags';
import { applyChange, isConflict, tryChange, unforeseen, write } from './change';

vi.stubGlobal('location', { origin: 'https://appliance' });

/** An appliance at a revision that refuses calls for another one. */
let revision = 7;
const sent: string[] = [];
vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
  const match = (init.headers as Record<string, string>)['If-Match'];
  sent.push(`${init.method} ${new URL(url, 'https://appliance').search} ${match ?? '-'}`);
  if (match && !match.startsWith(`"${revision}`)) return Promise.resolve(new Response('{"message":"changed"}', { status: 412 }));
  const dry = url.includes('dry_run');
  if (!dry) revision++;
  return Promise.resolve(new Response(JSON.stringify({ params: { diff: `of ${revision}` } }), { headers: { ETag: `"${revision}"` } }));
});

const shown = (tag: string) => noteTag('/farms/shop', new Response('', { headers: { ETag: tag } }));

describe('a change of what a page shows', () => {
  beforeEach(() => {
    forgetTags();
    revision = 7;
    sent.length = 0;
  });
  it('is tried and made on the version shown', async () => {
    shown('"7.a"');
    const change = write('x', 'x', 'DELETE', ['farms', 'shop', 'addheader', 0]);
    const tried = await tryChange(change);
    expect([tried.changed, tried.diff, (await applyChange(change, {}, tried.match)).revision]).toEqual([false, 'of 7', 8]);
    expect(sent).toEqual(['DELETE ?dry_run=true "7.a"', 'DELETE  "7.a"']);
    expect(tagOf(['farms', 'shop'])).toBe('"8.0"');
  });
  it('is tried again on the version there is, when another one was shown', async () => {
    shown('"6.a"');
    const tried = await tryChange(write('x', 'x', 'DELETE', ['farms', 'shop', 'addheader', 0]));
    expect([tried.changed, tried.diff, tried.match]).toEqual([true, 'of 7', '"7"']);
  });
  it('is refused when somebody was first after the difference was shown', async () => {
    const change = write('x', 'x', 'PUT', ['farms', 'shop'], {});
    const tried = await tryChange(change);
    expect(tried.match).toBe('"7"');
    revision = 8;
    const error: unknown = await applyChange(change, {}, tried.match).catch((e: unknown) => e);
    expect([isConflict(error), revision]).toEqual([true, 8]);
  });
});

describe('what is saved but cannot work', () => {
  const answering = (answer: object) => ({ ...write('x', 'x', 'PUT', ['farms', 'shop']), send: async () => ({ data: answer, response: new Response(null, { headers: { ETag: '"8"' } }) }) as never });
  it('is in the answer about an object, and in that of a transaction', async () => {
    expect(await applyChange(answering({ warning: 'a cannot work; b neither' }), {})).toEqual({ revision: 8, warnings: ['a cannot work', 'b neither'] });
    expect((await applyChange(answering({ params: { warnings: ['farm "shop": c'] } }), {})).warnings).toEqual(['farm "shop": c']);
    expect((await applyChange(answering({ params: {} }), {})).warnings).toEqual([]);
  });
  it('is said after a change unless the preview said it', () => expect(unforeseen(['a', 'b'], ['farm "shop": a'])).toEqual(['b']));
});
