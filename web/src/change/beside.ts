import type { Seen } from '../form/values';
import type { Change } from './change';

// What is kept beside the configuration (certificates, backups, settings of the appliance)
// has no revisions, and so no difference the appliance could tell: these are its lines.

/** A change that adds something, or sets these values. */
export function sets(change: Change, values: Seen): Change {
  const lines = Object.entries(values).map(([name, v]) => `+ ${name}: ${Array.isArray(v) ? v.join(', ') : v === null ? '' : String(v)}`);
  return { ...change, says: lines.join('\n') };
}

/** A change that takes something away. */
export const removes = (change: Change, what: string): Change => ({ ...change, says: `- ${what}` });
