import { describe, expect, it, vi } from 'vitest';
import { link, nameOf, placeOf, unlink } from './actions';

vi.stubGlobal('location', { origin: 'https://appliance' });

describe('where a check is linked', () => {
  it.each([
    ['l4', { farm: 'l4' }, 'l4'],
    ['shop_web', { farm: 'shop', service: 'web' }, 'shop / web'],
    ['shop_my_web', { farm: 'shop', service: 'my_web' }, 'shop / my_web'],
  ])('%s', (text, place, name) => {
    expect(placeOf(text)).toEqual(place);
    expect(nameOf(placeOf(text))).toBe(name);
  });
  it('is a path of the API and words of the command line', () => {
    expect(link('alive', { farm: 'shop', service: 'web' }, '').command).toBe('sluice check link alive shop web');
    expect(link('alive', { farm: 'shop', service: 'web' }, '').call).toContain('/farms/shop/services/web/fg');
    expect(unlink('alive', { farm: 'l4' }, '').command).toBe('sluice check unlink alive l4');
    expect(unlink('alive', { farm: 'l4' }, '').call).toContain("-X DELETE");
    expect(unlink('alive', { farm: 'l4' }, '').call).toContain('/farms/l4/fg/alive');
  });
});
