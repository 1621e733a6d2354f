import type { FarmNumbers } from '../api/types';
import { endpoint } from '../ui/address';
import { byUrgency } from '../ui/state';

/** The selection of farms in the list: by text, state and tag. */
export type Filter = { text: string; state: string | null; tag: string | null };

/** The farms that match a filter. Those that need attention come first. */
export function filtered(farms: FarmNumbers[], { text, state, tag }: Filter, stateOf: (f: FarmNumbers) => string): FarmNumbers[] {
  const wanted = text.trim().toLowerCase();
  return farms
    .filter((f) => (!state || stateOf(f) === state) && (!tag || f.tags?.includes(tag)) && `${f.farmname} ${f.profile} ${endpoint(f.vip, f.vport)} ${f.comment ?? ''}`.toLowerCase().includes(wanted))
    .sort((a, b) => byUrgency(stateOf(a), stateOf(b)) || a.farmname.localeCompare(b.farmname));
}
