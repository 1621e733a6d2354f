import type { Certificate } from './types';

/** How soon something ends: a word, and the colour that goes with it. */
export type Urgency = 'ended' | 'soon' | 'later';

/** Days before the end that call for a hand. */
export const soon = 30;

export const urgencyOf = (days: number): Urgency => (days < 0 ? 'ended' : days <= soon ? 'soon' : 'later');

/** One month of the calendar: what ends in it, soonest first. */
export type Month = { month: string; ends: Certificate[] };

/** Certificates by the month they end in, what ends first on top. A CSR does not end. */
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
