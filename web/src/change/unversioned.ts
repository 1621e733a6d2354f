import type { Settings } from '../api/fields';
import type { Change } from './change';

// Certificates, backups and settings of the appliance are outside the configuration. The appliance has no revisions of
// them and returns no difference, so these functions describe the change.

/** A change that adds something, or sets these values. */
export function sets(change: Change, values: Settings): Change {
  const lines = Object.entries(values).map(([name, v]) => `+ ${name}: ${Array.isArray(v) ? v.join(', ') : v === null ? '' : String(v)}`);
  return { ...change, difference: lines.join('\n') };
}

/** A change that removes something. */
export const removes = (change: Change, what: string): Change => ({ ...change, difference: `- ${what}` });
