import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, body, request } from './client';
import type { Schema, Settings } from './fields';
import { olderThan, revisionsOfPage } from './pages';
import { setRights, type Rights } from './rights';
import type { components } from './schema';
import { finishSignOut, isSigningOut } from './sign-out';

/** A service of an http farm, or a gslb service, which chooses addresses. */
export type Service = components['schemas']['ServiceView'] | components['schemas']['DNSServiceView'];

/** A farm of any profile: its settings, services, zones (without records) and own backends. */
export type FarmObject = { params: Settings; services: Service[]; zones: components['schemas']['ZoneView'][]; backends: components['schemas']['L4BackendView'][] };

/** A period: a duration up to now, or a start and an end. */
export type Span = { last: string } | { from: string; to: string };

/** Queries shared by the pages. Data that changes without an event is polled. */
export const queries = {
  who: queryOptions({
    queryKey: ['who'],
    queryFn: async () => {
      await finishSignOut();
      return body(api.GET('/system/info'));
    },
    retry: false,
    staleTime: Infinity,
    refetchIntervalInBackground: true,
    refetchInterval: (query) => (query.state.status === 'error' && isSigningOut() ? 5_000 : false), // until the network is back
  }),
  rights: queryOptions({
    queryKey: ['rights'],
    queryFn: async () => {
      const [permissions, { params }] = await Promise.all([body(api.GET('/rbac/permissions')), body(api.GET('/system/info'))]);
      const rights: Rights = { user: params.user, sections: permissions.params, allFarms: params.all_farms === 'true' };
      setRights(rights);
      return rights;
    },
    refetchInterval: 60_000,
  }),
  /** The account of the signed-in user. It changes with the other queries about people. */
  own: queryOptions({ queryKey: ['people', 'own'], queryFn: async () => (await body(api.GET('/system/users'))).params }),
  status: queryOptions({ queryKey: ['status'], queryFn: () => body(api.GET('/status')), refetchInterval: 10_000 }),
  machine: queryOptions({ queryKey: ['machine'], queryFn: () => body(api.GET('/stats')), refetchInterval: 5_000 }),
  farms: queryOptions({ queryKey: ['farms'], queryFn: () => body(api.GET('/stats/farms')), refetchInterval: 5_000 }),
  certificates: queryOptions({ queryKey: ['certificates'], queryFn: () => body(api.GET('/certificates')) }),
  interfaces: queryOptions({ queryKey: ['interfaces'], queryFn: () => body(api.GET('/stats/system/network/interfaces')) }),
  authorities: queryOptions({ queryKey: ['authorities'], queryFn: () => body(api.GET('/certificates/ca')) }),
  checks: queryOptions({ queryKey: ['checks'], queryFn: () => body(api.GET('/monitoring/fg')) }),
  /** The schema of every kind of configuration object, by name. */
  schemas: queryOptions({
    queryKey: ['schema'],
    queryFn: async () => ((await body(request('GET', ['schema']))) as { $defs: Record<string, Schema> }).$defs,
    staleTime: Infinity,
  }),
  findings: queryOptions({ queryKey: ['findings'], queryFn: () => body(api.GET('/lint')), refetchInterval: 60_000 }),
  pending: queryOptions({ queryKey: ['pending'], queryFn: () => body(api.GET('/pending')), refetchInterval: 5_000 }),
  /** Revisions in pages, newest first. The first page may have been longer before. */
  history: infiniteQueryOptions({
    queryKey: ['history'],
    queryFn: ({ pageParam }) => body(api.GET('/history', { params: { query: { limit: revisionsOfPage, before: pageParam } } })),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => olderThan(page.params?.map((r) => r.number) ?? []),
  }),
  farm: (farm: string) =>
    queryOptions({
      queryKey: ['farm', farm],
      queryFn: async (): Promise<FarmObject> => {
        const { params, ...rest } = await body(api.GET('/farms/{farm}', { params: { path: { farm }, query: { records: 'count' } } }));
        return { params, services: 'services' in rest ? rest.services : [], zones: 'zones' in rest ? rest.zones : [], backends: 'backends' in rest ? rest.backends : [] };
      },
    }),
  numbers: (farm: string) =>
    queryOptions({
      queryKey: ['numbers', farm],
      queryFn: () => body(api.GET('/stats/farms/{farm}', { params: { path: { farm } } })),
      refetchInterval: 5_000,
    }),
  series: (farm: string, span: Span) =>
    queryOptions({
      queryKey: ['series', farm, span],
      queryFn: () => body(api.GET('/stats/farms/{farm}/series', { params: { path: { farm }, query: span } })),
      refetchInterval: 10_000,
    }),
  allHeadroom: queryOptions({ queryKey: ['headroom'], queryFn: () => body(api.GET('/headroom')), refetchInterval: 15_000 }),
  headroom: (farm: string) =>
    queryOptions({
      queryKey: ['headroom', farm],
      queryFn: () => body(api.GET('/farms/{farm}/headroom', { params: { path: { farm } } })),
      refetchInterval: 15_000,
    }),
  /** The newest entries, newest first. */
  timeline: (of: { farm?: string; since?: string; severity?: string; limit?: number } = {}) =>
    queryOptions({
      queryKey: ['timeline', of],
      queryFn: () => body(api.GET('/timeline', { params: { query: { since: '24h', limit: 200, ...of, order: 'newest' } } })),
      refetchInterval: 15_000,
    }),
  diff: (revision: string, from: string) =>
    queryOptions({
      queryKey: ['diff', revision, from],
      queryFn: () => body(api.GET('/history/{revision}/diff', { params: { path: { revision }, query: { from } } })),
      staleTime: Infinity,
    }),
};
