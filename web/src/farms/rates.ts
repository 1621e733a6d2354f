import { useEffect, useRef, useState } from 'react';
import { farmFailures } from '../ui/failures';
import { rate } from '../ui/numbers';
import type { FarmNumbers } from '../api/types';

/** Rates per second: requests (connections of a layer 4 farm, queries of a gslb farm), and failures. */
export type Rates = { requests?: number; errors?: number };

type Reading = { at: number; requests: number; errors: number };

function read(f: FarmNumbers, at: number): Reading {
  const c = f.counters;
  return { at, requests: c.dns?.queries ?? (c.requests || c.connections || 0), errors: farmFailures(f.profile, c) };
}

/** The rates of each farm and of all farms, between the last two responses. */
export function useRates(farms: FarmNumbers[] | undefined, at: number): { of: Map<string, Rates>; total: Rates } {
  const before = useRef(new Map<string, Reading>());
  const [rates, setRates] = useState<{ of: Map<string, Rates>; total: Rates }>({ of: new Map(), total: {} });
  useEffect(() => {
    if (!farms) return;
    const of = new Map<string, Rates>();
    const total: Rates = {};
    const now = new Map<string, Reading>();
    for (const f of farms) {
      const reading = read(f, at);
      const old = before.current.get(f.farmname);
      now.set(f.farmname, reading);
      if (!old || old.at === at) continue;
      const r = { requests: rate(reading.requests, old.requests, at - old.at), errors: rate(reading.errors, old.errors, at - old.at) };
      of.set(f.farmname, r);
      total.requests = (total.requests ?? 0) + (r.requests ?? 0);
      total.errors = (total.errors ?? 0) + (r.errors ?? 0);
    }
    before.current = now;
    if (of.size > 0) setRates({ of, total });
  }, [farms, at]);
  return rates;
}
