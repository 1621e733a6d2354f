import { queryOptions } from '@tanstack/react-query';
import { api, body } from '../api/client';
import type { components } from '../api/schema';

export type Webhook = components['schemas']['WebhookView'];
export type Kind = components['schemas']['KindView'];
export type Alert = components['schemas']['AlertView'];

const one = <P>(name: string, ask: () => Promise<{ params: P }>) => queryOptions({ queryKey: ['notifications', name], queryFn: async () => (await ask()).params, refetchInterval: 15_000 });

/** The queries of the notifications page. */
export const notifications = {
  alerts: one('alerts', () => body(api.GET('/system/notifications/alerts'))),
  kinds: one('kinds', () => body(api.GET('/system/notifications/kinds'))),
  email: one('email', () => body(api.GET('/system/notifications/methods/email'))),
  syslog: one('syslog', () => body(api.GET('/system/notifications/methods/syslog'))),
  scripts: one('scripts', () => body(api.GET('/system/notifications/methods/scripts'))),
  webhooks: one('webhooks', () => body(api.GET('/system/notifications/methods/webhooks'))),
  backends: one('backends', () => body(api.GET('/system/notifications/alerts/backends'))),
  cluster: one('cluster', () => body(api.GET('/system/notifications/alerts/cluster'))),
  interfaces: one('interfaces', () => body(api.GET('/system/notifications/alerts/interfaces'))),
};
