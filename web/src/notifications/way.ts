import type { Alert, Kind } from './queries';

/** A notification channel. If kinds is empty, it gets all events; mails get the events of the enabled alerts. */
export type Way = {
  what: 'email' | 'syslog' | 'scripts' | 'webhook';
  /** The name of a webhook. */
  name: string;
  /** The destination of messages. */
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

/** Whether a channel gets events of a kind: all, those of sufficient severity, or none. */
export function told(way: Way, kind: Kind, alerts: Alert[]): 'all' | 'some' | 'none' {
  const chosen = way.kinds.length > 0 ? way.kinds.includes(kind.kind) : way.what !== 'email' || alerts.some((a) => a.alert === kind.alert && a.status === 'enabled');
  const severe = kind.severities.filter((s) => severities.indexOf(s) >= severities.indexOf(way.severity));
  if (!way.on || !chosen || severe.length === 0) return 'none';
  return severe.length === kind.severities.length ? 'all' : 'some';
}
