import { beforeEach, describe, expect, it, vi } from 'vitest';
import { action } from './actions';
import { oneByOne, type Outcome } from './restarts-run';

vi.stubGlobal('location', { origin: 'https://appliance' });

/** The calls, and how many of them were open at most. */
const sent: string[] = [];
let open = 0;
let most = 0;
vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
  most = Math.max(most, ++open);
  const path = new URL(url, 'https://appliance').pathname;
  sent.push(`${init.method} ${path} ${String(init.body)}`);
  await Promise.resolve();
  open--;
  if (path.includes('/lost/')) throw new TypeError('network');
  if (path.includes('/down/')) return new Response('{"message":"eth1 is down"}', { status: 400 });
  return new Response('{"warning":"slow"}', { headers: { ETag: '"7"' } });
});

describe('several restarts', () => {
  const farms = ['a', 'down', 'lost', 'b'];
  const outcomes: (Outcome | undefined)[] = [];
  const warned: string[] = [];
  const run = (stopped = () => false) =>
    oneByOne(farms.map((farm) => action(farm, 'restart', '')), (i, outcome, warnings) => {
      outcomes[i] = outcome;
      warned.push(...warnings);
    }, stopped);
  beforeEach(() => {
    sent.length = outcomes.length = warned.length = most = 0;
  });
  it('come one after the other, whatever becomes of one', async () => {
    await run();
    expect([sent, most]).toEqual([farms.map((farm) => `PUT /api/v4.0/farms/${farm}/actions {"action":"restart"}`), 1]);
    expect([outcomes[0], outcomes[3]]).toEqual(['done', 'done']);
    expect([outcomes[1], outcomes[2]]).toMatchObject([{ message: 'eth1 is down' }, { status: 0 }]);
    expect(warned).toEqual(['slow', 'slow']);
  });
  it('end when they are stopped', async () => {
    await run(() => sent.length === 2);
    expect([sent.length, outcomes.length]).toEqual([2, 2]);
  });
});
