import { describe, expect, it } from 'vitest';
import table from './figures.json';
import { latency, limit, percent, requests } from './figures';

describe('figures of head-room', () => {
  // A Go test of cmd/cli reads the same table.
  for (const [kind, write] of Object.entries({ requests, percent, latency })) {
    it(`are those of sluice headroom: ${kind}`, () => {
      for (const [value, text] of table[kind as keyof typeof table]) expect(write(value as number).replace(' ', '')).toBe(text);
    });
  }
  it('have a digit behind the point while they are few', () => expect([0, 3, 9.94, 9.95, 1234].map(requests)).toEqual(['0.0', '3.0', '9.9', '10', '1234']));
  it('mark a limit that is a lower bound', () => expect([limit(12.4, 'seen'), limit(12.4, 'not seen'), limit(null, 'not known')]).toEqual(['12', '>12', '–']));
  it('are percent of the limit', () => expect([percent(83.4), percent(0), percent(null)]).toEqual(['83 %', '0 %', '–']));
  it('have a latency to a hundredth of a millisecond', () => expect([latency(0.001254), latency(0.00002), latency(1.5), latency(undefined)]).toEqual(['1.25 ms', '20 µs', '1.5 s', '–']));
});
