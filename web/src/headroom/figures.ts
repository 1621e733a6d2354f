import { localized } from '../ui/decimal';

// Figures have the same format as in `sluice headroom`, so that the two can be compared. Only the decimal separator is
// that of the reader's language.

type Known = number | null | undefined;
const none = '–';
const isKnown = (n: Known): n is number => n !== null && n !== undefined;

/** A number with that many decimal places, rounded half to even. */
function rounded(n: number, digits: number): string {
  const away = n.toFixed(digits);
  const rest = n.toFixed(20).split('.')[1]?.slice(digits) ?? '';
  if (!/^50*$/.test(rest) || /[02468]$/.test(away)) return away;
  return (Number(away) - Math.sign(n) / 10 ** digits).toFixed(digits);
}

/** Requests in flight, with one decimal place for small numbers. */
export const requests = (n: Known) => (isKnown(n) ? (n < 9.95 ? localized(rounded(n, 1)) : n.toFixed(0)) : none);

/** The limit of a backend. A > marks a lower bound: saturation was not observed yet. */
export const limit = (n: Known, bend: string) => (isKnown(n) ? `${bend === 'not seen' ? '>' : ''}${requests(n)}` : none);

export const percent = (n: Known) => (isKnown(n) ? `${rounded(n, 0)} %` : none);

/** Seconds to the first byte, rounded to 0.01 ms. */
export function latency(seconds: Known): string {
  if (!isKnown(seconds)) return none;
  const units = Math.round(Math.trunc(seconds * 1e9) / 1e4); // in units of 10 µs
  if (units === 0) return '0 s';
  if (units < 100) return `${units * 10} µs`;
  return units < 100_000 ? `${localized(String(units / 100))} ms` : `${localized(String(units / 100_000))} s`;
}
