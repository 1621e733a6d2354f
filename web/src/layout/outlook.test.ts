import { describe, expect, it } from 'vitest';
import { outlook, reverted, type Pending } from './outlook';

const change: Pending = { pending: 'true', revision: 7, author: 'ann' };
const last = { revision: 7, outcome: 'went back', author: 'ann', source: 'guard', at: '2026-01-31T10:00:00Z', now: 8, reason: 'errors 5% is not errors<1%' } as const;
const then = Date.parse(last.at);

describe('the outlook of a pending change', () => {
  it('is that it is reverted, unless somebody confirms it', () => expect(outlook(change)).toBe('reverted'));
  it('is that it is kept, if a guard watches it', () => expect(outlook({ ...change, guard: 'errors<1%' })).toBe('kept'));
  it('is left open to those who may not see the change', () => expect(outlook({ pending: 'true', revision: 7 })).toBe('ends'));
});

describe('a change that was reverted', () => {
  it('is shown with its reason', () => expect(reverted({ pending: 'false', last }, then + 1000)?.reason).toBe(last.reason));
  it('is no news after a day', () => expect(reverted({ pending: 'false', last }, then + 25 * 3_600_000)).toBeUndefined());
  it('is none that was confirmed or taken back by somebody', () => {
    expect(reverted({ pending: 'false', last: { ...last, outcome: 'confirmed' } }, then)).toBeUndefined();
    expect(reverted({ pending: 'false', last: { ...last, outcome: 'taken back' } }, then)).toBeUndefined();
    expect(reverted(undefined, then)).toBeUndefined();
  });
});
