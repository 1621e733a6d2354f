import { describe, expect, it } from 'vitest';
import { byUrgency, stateOf } from './state';

describe('the state of a farm', () => {
  it('is stopped when somebody stopped it', () => expect(stateOf({ status: 'down', configured: 'down' })).toBe('stopped'));
  it('is down when it should run', () => expect(stateOf({ status: 'down', configured: 'up' })).toBe('down'));
  it('is down when its start was refused', () => expect(stateOf({ status: 'down', configured: 'down', problem: 'the last start was refused' })).toBe('down'));
  it('is what the appliance says otherwise', () => expect(stateOf({ status: 'problem', configured: 'up' })).toBe('problem'));
});

describe('the order of states', () => {
  it('has farms that failed first, and those that were stopped next to last', () => expect(['up', 'stopped', 'down', 'problem', 'unheard of'].sort(byUrgency)).toEqual(['down', 'problem', 'unheard of', 'stopped', 'up']));
});
