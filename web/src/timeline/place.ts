type Placed = { farm?: string; service?: string; backend?: string };

/** The farms of an entry, separated by commas. */
export const farmsOf = (e: Placed): string[] => (e.farm ?? '').split(', ').filter(Boolean);

/** The number of farms named by an entry; a document may change a thousand. */
const most = 6;

/** The named farms of an entry, and the number of others. */
export function namedFarms(e: Placed): { named: string[]; more: number } {
  const all = farmsOf(e);
  return all.length <= most ? { named: all, more: 0 } : { named: all.slice(0, most), more: all.length - most };
}

/** Service and backend of an entry, e.g. "all / 0 (10.0.0.1:80)"; blank if it is about whole farms or the appliance. */
export const partOf = (e: Placed): string => [e.service, e.backend].filter(Boolean).join(' / ');
