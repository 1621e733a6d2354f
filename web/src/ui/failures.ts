// The definition of a failure, which equals that of the series (mgmt/recorder) used by charts, guards and step
// detection.

type Responses = { responses?: { '5xx'?: number } };
type FarmCounters = Responses & { no_backend?: number; backend_errors?: number; dns?: { servfail?: number } };
type BackendCounters = Responses & { connect_failures?: number; resets?: number; bad_responses?: number; timeouts?: number };

/**
 * Failures of a farm: 5xx responses; for an l4xnat farm connections without a backend, for a gslb farm SERVFAIL
 * answers.
 */
export function farmFailures(profile: string, c: FarmCounters): number {
  if (c.dns) return c.dns.servfail ?? 0;
  const answered = c.responses?.['5xx'] ?? 0; // includes 502, 503 and 504 of the appliance
  return profile === 'l4xnat' ? answered + (c.no_backend ?? 0) + (c.backend_errors ?? 0) : answered;
}

/** Failures of a backend: 5xx responses, and requests without a response or with a malformed or late one. */
export const backendFailures = (c: BackendCounters): number =>
  (c.responses?.['5xx'] ?? 0) + (c.connect_failures ?? 0) + (c.resets ?? 0) + (c.bad_responses ?? 0) + (c.timeouts ?? 0);
