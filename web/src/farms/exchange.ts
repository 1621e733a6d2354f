/** An exchange that ended, or a question that was answered, as the trace of a farm tells of it. */
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
  /** How the backend was found: algorithm, session, cookie or pin. */
  decision?: string;
  rejection?: string;
  reason?: string;
  /** Names of what happened to it, with commas between. */
  flags?: string;
};

/** What happened to an exchange, besides that a backend answered it. */
export const happened = (e: Exchange): string => [e.rejection, e.reason, ...(e.flags ?? '').split(',')].filter(Boolean).join(', ');
