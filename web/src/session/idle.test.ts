import { describe, expect, it } from 'vitest';
import { idleness } from './idle';

const life = 30 * 60_000;

describe('a session that nobody uses', () => {
  it.each([
    [0, 'active', 1800],
    [life - 60_001, 'active', 61],
    [life - 60_000, 'warned', 60],
    [life - 1, 'warned', 1],
    [life, 'ended', 0],
    [life + 5_000, 'ended', 0],
  ] as const)('after %d ms', (idle, state, left) => expect(idleness(1_000_000 + idle, 1_000_000, life)).toEqual({ state, left }));
});
