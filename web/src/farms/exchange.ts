/** A completed exchange or query in the trace of a farm. */
export type Exchange = {
  time: string;
  service?: string;
  backend?: string;
  client?: string;
  method?: string;
  host?: string;
  path?: string;
  name?: string;
  type?: string;
  rcode?: string;
  status?: number;
  total_us?: number;
  /** How the backend was selected: algorithm, session, cookie or pin. */
  decision?: string;
  rejection?: string;
  reason?: string;
  /** Names of events, separated by commas. */
  flags?: string;
};

/** The events of an exchange, apart from a successful response. */
export const happened = (e: Exchange): string => [e.rejection, e.reason, ...(e.flags ?? '').split(',')].filter(Boolean).join(', ');
