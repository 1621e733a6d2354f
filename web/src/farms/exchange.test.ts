import { describe, expect, it } from 'vitest';
import { happened } from './exchange';

describe('what happened to an exchange', () => {
  const time = '2026-01-31T10:00:00Z';
  it('is told in words, not in letters', () => expect(happened({ time, decision: 'algorithm', flags: 'retried,reused' })).toBe('retried, reused'));
  it('begins with why it was refused', () => expect(happened({ time, rejection: 'limit', reason: 'too many requests', flags: 'own-answer' })).toBe('limit, too many requests, own-answer'));
  it('is nothing where nothing is told', () => expect(happened({ time })).toBe(''));
});
