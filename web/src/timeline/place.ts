type Placed = { farm?: string; service?: string; backend?: string };

/** The farms that an entry is about; several have commas between them. */
export const farmsOf = (e: Placed): string[] => (e.farm ?? '').split(', ').filter(Boolean);

/** How many farms an entry names; a document may change a thousand. */
const most = 6;

/** The farms that an entry names, and how many more it is about. */
export function namedFarms(e: Placed): { named: string[]; more: number } {
  const all = farmsOf(e);
  return all.length <= most ? { named: all, more: 0 } : { named: all.slice(0, most), more: all.length - most };
}

/** Service and backend of an entry, as "all / 0 (10.0.0.1:80)"; blank: it is about whole farms, or the appliance. */
export const partOf = (e: Placed): string => [e.service, e.backend].filter(Boolean).join(' / ');
