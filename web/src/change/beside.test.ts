import { describe, expect, it } from 'vitest';
import { removes, sets } from './beside';
import type { Change } from './change';

const change = { title: 'x' } as Change;

describe('what a change beside the configuration does', () => {
  it('is what it sets', () => expect(sets(change, { minutes: 31, names: ['a', 'b'], level: null }).says).toBe('+ minutes: 31\n+ names: a, b\n+ level: '));
  it('is what it removes', () => expect(removes(change, 'shop.pem').says).toBe('- shop.pem'));
});
