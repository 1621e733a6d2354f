import { useQuery } from '@tanstack/react-query';
import { notifications } from './queries';
import type { Way } from './way';

/** All channels: mails, syslog, scripts, and each webhook. */
export function useWays() {
  const email = useQuery(notifications.email);
  const syslog = useQuery(notifications.syslog);
  const scripts = useQuery(notifications.scripts);
  const hooks = useQuery(notifications.webhooks);
  const all = [email, syslog, scripts, hooks];
  const error = all.find((q) => q.error)?.error;
  const refetch = () => all.forEach((q) => void q.refetch());
  if (!email.data || !syslog.data || !scripts.data || !hooks.data) return { data: undefined, error, refetch };
  const e = email.data;
  const data: Way[] = [
    { what: 'email', name: '', to: [e.server, e.to].filter(Boolean).join(' → '), on: e.server !== '', kinds: e.kinds, severity: e.severity, counts: e, seen: { ...e, to: e.recipients } },
    { what: 'syslog', name: '', to: '', on: syslog.data.enabled === 'true', kinds: syslog.data.kinds, severity: syslog.data.severity, seen: syslog.data },
    { what: 'scripts', name: '', to: '', on: scripts.data.enabled === 'true', kinds: scripts.data.kinds, severity: scripts.data.severity, seen: scripts.data },
    ...hooks.data.map((w): Way => ({ what: 'webhook', name: w.name, to: w.url, on: w.enabled === 'true', kinds: w.kinds, severity: w.severity, counts: w, problem: w.problem, seen: { ...w, secret: '' } })),
  ];
  return { data, error, refetch };
}
