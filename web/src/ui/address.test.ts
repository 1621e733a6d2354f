import { describe, expect, it } from 'vitest';
import { endpoint } from './address';

describe('an endpoint', () => {
  it.each([
    ['10.0.0.1', 80, '10.0.0.1:80'],
    ['10.0.0.1', '80,443', '10.0.0.1:80,443'],
    ['fd00::1', 80, '[fd00::1]:80'],
    ['fd00::1', null, 'fd00::1'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['db.internal', 5432, 'db.internal:5432'],
  ])('%s %s', (host, port, text) => expect(endpoint(host, port)).toBe(text));
});
