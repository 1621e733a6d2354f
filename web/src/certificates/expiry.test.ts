import { describe, expect, it } from 'vitest';
import { months, urgencyOf } from './expiry';
import type { Certificate } from './types';

const ends = (file: string, expiration: string | null) => ({ file, expiration }) as Certificate;

describe('the calendar of certificates', () => {
  it('has what ends first on top, by month, and no CSR', () => {
    const all = [ends('c', '2027-03-02T00:00:00Z'), ends('csr', null), ends('b', '2026-12-30T00:00:00Z'), ends('a', '2026-12-01T00:00:00Z')];
    expect(months(all).map((m) => [m.month, m.ends.map((e) => e.file)])).toEqual([
      ['2026-12', ['a', 'b']],
      ['2027-03', ['c']],
    ]);
  });
  it.each([
    [-1, 'ended'],
    [0, 'soon'],
    [30, 'soon'],
    [31, 'later'],
  ])('%s days are %s', (days, want) => expect(urgencyOf(days)).toBe(want));
});
