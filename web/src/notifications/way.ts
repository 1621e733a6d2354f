import type { Alert, Kind } from './queries';

/** A way operators hear of events. Kinds is empty for all; of mails for those of the alerts. */
export type Way = {
  what: 'email' | 'syslog' | 'scripts' | 'webhook';
  /** Of a webhook what it is called. */
  name: string;
  /** Where messages go. */
  to: string;
  on: boolean;
  kinds: string[];
  severity: string;
  counts?: { sent: number; waiting: number; lost: number };
  problem?: string;
  /** The object as the API answers it. */
  seen: Record<string, unknown>;
};

const severities = ['info', 'warning', 'error'];

/** Whether events of a kind go a way: all of them, those that are severe enough, or none. */
export function told(way: Way, kind: Kind, alerts: Alert[]): 'all' | 'some' | 'none' {
  const chosen = way.kinds.length > 0 ? way.kinds.includes(kind.kind) : way.what !== 'email' || alerts.some((a) => a.alert === kind.alert && a.status === 'enabled');
  const severe = kind.severities.filter((s) => severities.indexOf(s) >= severities.indexOf(way.severity));
  if (!way.on || !chosen || severe.length === 0) return 'none';
  return severe.length === kind.severities.length ? 'all' : 'some';
}
