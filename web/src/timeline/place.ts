type Placed = { farm?: string; service?: string; backend?: string };

/** The farms that an entry is about; several have commas between them. */
export const farmsOf = (e: Placed): string[] => (e.farm ?? '').split(', ').filter(Boolean);

/** Service and backend of an entry, as "all / 0 (10.0.0.1:80)"; blank: it is about whole farms, or the appliance. */
export const partOf = (e: Placed): string => [e.service, e.backend].filter(Boolean).join(' / ');
