import { describe, expect, it } from 'vitest';
import { removes, sets } from './unversioned';
import type { Change } from './change';

const change = { title: 'x' } as Change;

describe('a change outside the configuration', () => {
  it('lists what it sets', () => expect(sets(change, { minutes: 31, names: ['a', 'b'], level: null }).difference).toBe('+ minutes: 31\n+ names: a, b\n+ level: '));
  it('lists what it removes', () => expect(removes(change, 'shop.pem').difference).toBe('- shop.pem'));
});
