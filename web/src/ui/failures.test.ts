import { describe, expect, it } from 'vitest';
import { backendFailures, farmFailures } from './failures';

describe('failures', () => {
  const responses = { '5xx': 3 };
  it('of a backend are responses 5xx and what was no response', () => expect(backendFailures({ responses, connect_failures: 1, resets: 2, bad_responses: 4, timeouts: 8 })).toBe(18));
  it('of an http farm are responses 5xx, each counted once', () => expect(farmFailures('http', { responses, no_backend: 1, backend_errors: 2 })).toBe(3));
  it('of an l4xnat farm are connections without a backend', () => expect(farmFailures('l4xnat', { no_backend: 1, backend_errors: 2 })).toBe(3));
  it('of a gslb farm are answers SERVFAIL', () => expect(farmFailures('gslb', { dns: { servfail: 5 }, no_backend: 1 })).toBe(5));
});
