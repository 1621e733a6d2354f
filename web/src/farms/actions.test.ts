import { describe, expect, it, vi } from 'vitest';
import { createServiceAt, takesAll } from './actions';

vi.stubGlobal('location', { origin: 'https://sluice' });

describe('a service that takes every request', () => {
  it('has neither host nor URL', () => expect([{}, { vhost: '', urlp: '' }, { vhost: 'a' }, { urlp: '^/a' }].map(takesAll)).toEqual([true, true, false, false]));
});

describe('a service before the one that takes every request', () => {
  const change = createServiceAt('shop', { id: 'api', urlp: '^/api' }, 1, 'Create');
  it('is created and moved as one change', () =>
    expect(JSON.parse(/-d '(.*?)' '/.exec(change.call)![1])).toEqual({
      writes: [
        { method: 'POST', path: '/farms/shop/services', body: { id: 'api', urlp: '^/api' } },
        { method: 'POST', path: '/farms/shop/services/api/actions', body: { position: 1 } },
      ],
    }));
  it('has the same effect on the command line', () => expect(change.command.split('\n')).toEqual(["sluice service create shop api 'urlp=^/api'", 'sluice service move shop api 1']));
});
