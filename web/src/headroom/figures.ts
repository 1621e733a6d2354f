// The figures of head-room are written as `sluice headroom` writes them: whoever compares
// the two sees the same numbers.

type Known = number | null | undefined;
const none = '–';
const isKnown = (n: Known): n is number => n !== null && n !== undefined;

/** Requests under way, with a digit behind the point while they are few. */
export const requests = (n: Known) => (isKnown(n) ? n.toFixed(n < 9.95 ? 1 : 0) : none);

/** The limit of a backend; > marks a lower bound: its latency was not seen to bend. */
export const limit = (n: Known, bend: string) => (isKnown(n) ? `${bend === 'not seen' ? '>' : ''}${requests(n)}` : none);

export const percent = (n: Known) => (isKnown(n) ? `${n.toFixed(0)} %` : none);

/** Seconds to the first byte, to a hundredth of a millisecond. */
export function latency(seconds: Known): string {
  if (!isKnown(seconds)) return none;
  return seconds < 1 ? `${Number((seconds * 1000).toFixed(2))} ms` : `${Number(seconds.toFixed(5))} s`;
}
