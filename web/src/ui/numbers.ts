import { decimal } from './decimal';

const units = ['', 'k', 'M', 'G', 'T'];

/** A shortened count: 12,345 is 12.3k. */
export function count(n: number | null | undefined): string {
  if (n === null || n === undefined || Number.isNaN(n)) return '–';
  let at = 0;
  while (Math.abs(n) >= 999.5 && at < units.length - 1) {
    n /= 1000;
    at++;
  }
  const digits = at === 0 ? (Number.isInteger(n) ? 0 : 1) : Math.abs(n) < 99.95 ? 1 : 0;
  return decimal(n, digits) + units[at];
}

/** A size in bytes, in powers of 1024. */
export function bytes(n: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (n >= 1023.5 && at < names.length - 1) {
    n /= 1024;
    at++;
  }
  return `${at === 0 || n >= 99.95 ? decimal(n, 0) : decimal(n, 1)} ${names[at]}`;
}

/** Seconds as milliseconds or seconds. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1) return `${decimal(seconds * 1000, seconds < 0.01 ? 1 : 0)} ms`;
  return `${decimal(seconds, seconds < 10 ? 1 : 0)} s`;
}

/** The rate from two readings of an increasing counter; undefined if it was reset. */
export function rate(now: number, before: number, milliseconds: number): number | undefined {
  return now < before || milliseconds <= 0 ? undefined : ((now - before) * 1000) / milliseconds;
}
