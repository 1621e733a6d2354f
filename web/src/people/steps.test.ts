import { afterEach, describe, expect, it, vi } from 'vitest';
import { masked, diffLines, steps } from './steps';

vi.stubGlobal('location', { origin: 'https://appliance' });
afterEach(() => vi.restoreAllMocks());

/** An appliance that refuses calls whose path contains this word. */
function appliance(refused = 'nothing') {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (url: string, o: { method: string }) => {
    asked.push(`${o.method} ${url}`);
    return Promise.resolve(new Response(JSON.stringify({ message: 'no' }), { status: url.includes(refused) ? 400 : 200 }));
  });
  return asked;
}

const two = () =>
  steps('Create zed', [
    { command: 'sluice user create zed', method: 'POST', parts: ['rbac', 'users'], sent: { name: 'zed', password: 'secret-1' } },
    { command: 'sluice group add ops zed', method: 'POST', parts: ['rbac', 'groups', 'ops', 'users'], sent: { name: 'zed' } },
  ], '+ name: zed');

describe('a change of several calls', () => {
  it('shows each, and no secret', () => {
    expect(two().command).toBe('sluice user create zed\nsluice group add ops zed');
    expect(two().call.split('\n')).toHaveLength(2);
    expect(two().call).not.toContain('secret-1');
  });
  it('tries the first, and makes all in their order', async () => {
    const asked = appliance();
    await two().send({ dry_run: 'true' });
    await two().send({});
    expect(asked).toEqual(['POST /api/v4.0/rbac/users?dry_run=true', 'POST /api/v4.0/rbac/users?', 'POST /api/v4.0/rbac/groups/ops/users?']);
  });
  it('ends with the one that is refused', async () => {
    const asked = appliance('/rbac/users');
    expect((await two().send({})).response.status).toBe(400);
    expect(asked).toHaveLength(1);
  });
});

describe('what changes', () => {
  it('is what was and what will be', () => expect(diffLines({ role: 'ops', kinds: ['a'] }, { role: 'all', kinds: ['a', 'b'] })).toBe('- role: ops\n+ role: all\n- kinds: [a]\n+ kinds: [a, b]'));
  it('leaves out what is blank', () => expect(diffLines({ role: '', to: [] }, { role: null, to: [] })).toBe(''));
  it('never shows a secret', () => {
    expect(diffLines({ secret: '***' }, { secret: 'key of hooks' })).toBe('- secret: ***\n+ secret: ***');
    expect(masked({ newpassword: 'a', zapikey: 'b', name: 'c' })).toEqual({ newpassword: '***', zapikey: '***', name: 'c' });
  });
});
