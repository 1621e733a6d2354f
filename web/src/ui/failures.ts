// What counts as a failure, by one definition: that of the series that charts draw, and that
// guards and step detection judge by (mgmt/recorder).

type Responses = { responses?: { '5xx'?: number } };
type FarmCounters = Responses & { no_backend?: number; backend_errors?: number; dns?: { servfail?: number } };
type BackendCounters = Responses & { connect_failures?: number; resets?: number; bad_responses?: number; timeouts?: number };

/** Failures of a farm: responses 5xx; of an l4xnat farm connections without a backend, of a gslb farm answers SERVFAIL. */
export function farmFailures(profile: string, c: FarmCounters): number {
  if (c.dns) return c.dns.servfail ?? 0;
  const answered = c.responses?.['5xx'] ?? 0; // 502, 503 and 504 of the appliance are among them
  return profile === 'l4xnat' ? answered + (c.no_backend ?? 0) + (c.backend_errors ?? 0) : answered;
}

/** Failures of a backend: responses 5xx, and requests that got none, a malformed one, or one too late. */
export const backendFailures = (c: BackendCounters): number =>
  (c.responses?.['5xx'] ?? 0) + (c.connect_failures ?? 0) + (c.resets ?? 0) + (c.bad_responses ?? 0) + (c.timeouts ?? 0);
