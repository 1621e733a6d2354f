import { describe, expect, it } from 'vitest';
import { farmsOf, namedFarms, partOf } from './place';

describe('the place of an entry', () => {
  it('names each of several farms', () => expect(farmsOf({ farm: 'shop, mail' })).toEqual(['shop', 'mail']));
  it('has no farm where it is about the appliance', () => expect(farmsOf({ farm: '' })).toEqual([]));
  it('names service and backend', () => expect(partOf({ farm: 'shop', service: 'all', backend: '0 (10.0.0.1:80)' })).toBe('all / 0 (10.0.0.1:80)'));
  it('names the backend of a farm without services', () => expect(partOf({ farm: 'dns', service: '', backend: '0 (10.0.0.1)' })).toBe('0 (10.0.0.1)'));
  it('is blank for a whole farm', () => expect(partOf({ farm: 'shop', service: '', backend: '' })).toBe(''));
  it('names some farms of a change of very many', () => {
    const farms = Array.from({ length: 1000 }, (_, i) => `farm${i}`);
    const { named, more } = namedFarms({ farm: farms.join(', ') });
    expect([named.length, named[0], more]).toEqual([6, 'farm0', 994]);
    expect(namedFarms({ farm: 'a, b' })).toEqual({ named: ['a', 'b'], more: 0 });
  });
});
