import { describe, expect, it } from 'vitest';
import { withLabels } from './help';

const fields: Record<string, string> = { retry_on: '“Retry on”', ratelimit: '“Rate limit”', queue: '“Queue length”' };
const values: Record<string, string> = { ROUND_ROBIN: 'Round robin', http1: 'HTTP/1.1' };
const page = (help: string) => withLabels(help, (name) => fields[name], (value) => values[value]);

describe('a help text', () => {
  it('names fields by their labels', () => expect(page('Only with retry_on. Only while ratelimit is not 0.')).toBe('Only with “Retry on”. Only while “Rate limit” is not 0.'));
  it('names values by their labels', () => expect(page('Default: ROUND_ROBIN, or http1.')).toBe('Default: Round robin, or HTTP/1.1.'));
  it('keeps words that are also names', () => expect(page('Length of the queue, in user_agent.')).toBe('Length of the queue, in user_agent.'));
});
