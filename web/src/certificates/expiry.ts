import type { Certificate } from './types';

/** The urgency of an expiry: a word and its colour. */
export type Urgency = 'ended' | 'soon' | 'later';

/** The days before expiry from which a certificate needs attention. */
export const soon = 30;

export const urgencyOf = (days: number): Urgency => (days < 0 ? 'ended' : days <= soon ? 'soon' : 'later');

/** One month of the calendar with its expiries, soonest first. */
export type Month = { month: string; ends: Certificate[] };

/** Certificates by month of expiry, soonest first. CSRs do not expire. */
export function months(all: Certificate[]): Month[] {
  const ending = all.filter((c) => c.expiration).sort((a, b) => String(a.expiration).localeCompare(String(b.expiration)));
  const out: Month[] = [];
  for (const c of ending) {
    const month = String(c.expiration).slice(0, 7);
    const last = out.at(-1);
    if (last?.month === month) last.ends.push(c);
    else out.push({ month, ends: [c] });
  }
  return out;
}
