import { describe, expect, it } from 'vitest';
import type { Alert, Kind } from './queries';
import { told, type Way } from './way';

const down = { kind: 'backend-down', severities: ['warning'], alert: 'backends', description: '' } as Kind;
const status = { kind: 'farm-status', severities: ['info', 'warning', 'error'], alert: 'backends', description: '' } as Kind;
const start = { kind: 'farm-start', severities: ['info'], alert: '', description: '' } as Kind;
const alerts = (is: string) => [{ alert: 'backends', status: is, active: 'true', description: '' }] as Alert[];
const way = (of: Partial<Way>): Way => ({ what: 'webhook', name: 'ops', to: '', on: true, kinds: [], severity: 'info', seen: {}, ...of });

describe('which events go a way', () => {
  it.each([
    ['all where none is chosen', way({}), start, 'all'],
    ['those that are chosen', way({ kinds: ['backend-down'] }), down, 'all'],
    ['no others', way({ kinds: ['backend-down'] }), start, 'none'],
    ['those that are severe enough', way({ severity: 'warning' }), status, 'some'],
    ['none that is not', way({ severity: 'error' }), down, 'none'],
    ['none while it is off', way({ on: false }), down, 'none'],
  ])('%s', (_, w, kind, want) => expect(told(w, kind, alerts('disabled'))).toBe(want));
  it('of mails goes by the alerts, unless kinds are chosen', () => {
    expect(told(way({ what: 'email' }), down, alerts('enabled'))).toBe('all');
    expect(told(way({ what: 'email' }), down, alerts('disabled'))).toBe('none');
    expect(told(way({ what: 'email' }), start, alerts('enabled'))).toBe('none');
    expect(told(way({ what: 'email', kinds: ['farm-start'] }), start, alerts('disabled'))).toBe('all');
  });
});
