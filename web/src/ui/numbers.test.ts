import { describe, expect, it } from 'vitest';
import { bytes, count, duration, rate } from './numbers';

describe('numbers are written as people read them', () => {
  it.each([
    [0, '0'],
    [7, '7'],
    [0.25, '0.3'],
    [999, '999'],
    [999.6, '1.0k'],
    [12_345, '12.3k'],
    [123_456, '123k'],
    [9_999_999, '10.0M'],
    [null, '–'],
  ])('%s', (n, want) => expect(count(n)).toBe(want));

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [150 * 1024, '150 KiB'],
    [5 * 1024 ** 3, '5.0 GiB'],
  ])('%s bytes', (n, want) => expect(bytes(n)).toBe(want));

  it.each([
    [0.0004, '0.4 ms'],
    [0.25, '250 ms'],
    [1.26, '1.3 s'],
    [42, '42 s'],
    [undefined, '–'],
  ])('%s seconds', (n, want) => expect(duration(n)).toBe(want));

  it('is no rate when a counter began anew', () => {
    expect(rate(50, 10, 2000)).toBe(20);
    expect(rate(5, 10, 2000)).toBeUndefined();
    expect(rate(5, 5, 0)).toBeUndefined();
  });
});
