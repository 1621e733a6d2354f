import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, body } from '../api/client';
import type { components } from '../api/schema';

export type User = components['schemas']['UserItem'];
export type GroupItem = components['schemas']['GroupItem'];
export type AuditEntry = components['schemas']['AuditEntry'];

type Schemas = components['schemas'];

/** Creates a key; only this response contains it. */
export const makeKey = async (comment: string) => (await body(api.POST('/keys', { body: { comment } }))).params as Schemas['NewKey'];

/** Creates a secret for an authenticator app; only this response contains it. */
export const enrolSecond = async (password: string) => (await body(api.POST('/system/users/totp', { body: { password } }))).params as Schemas['NewSecond'];

export type SecondAction = { action: 'confirm' | 'disable' | 'recovery'; password?: string; code?: string };

/** Confirms the second factor, renews its recovery codes, or removes it. Only this response contains the codes. */
export const actOnSecond = async (sent: SecondAction) => (await body(api.POST('/system/users/totp/actions', { body: sent }))).params as Schemas['SecondDone'];

/** The number of entries of the audit log requested at once. */
const entries = 200;

/** The queries of the pages about users. */
export const people = {
  users: queryOptions({ queryKey: ['people', 'users'], queryFn: async () => (await body(api.GET('/rbac/users'))).params }),
  groups: queryOptions({ queryKey: ['people', 'groups'], queryFn: async () => (await body(api.GET('/rbac/groups'))).params }),
  roles: queryOptions({ queryKey: ['people', 'roles'], queryFn: async () => (await body(api.GET('/rbac/roles'))).params }),
  role: (role: string) =>
    queryOptions({ queryKey: ['people', 'roles', role], queryFn: async () => (await body(api.GET('/rbac/roles/{role}', { params: { path: { role } } }))).params }),
  keys: queryOptions({ queryKey: ['people', 'keys'], queryFn: async () => (await body(api.GET('/keys'))).params }),
  sessions: queryOptions({ queryKey: ['people', 'sessions'], queryFn: async () => (await body(api.GET('/rbac/sessions'))).params, refetchInterval: 10_000 }),
  second: queryOptions({ queryKey: ['people', 'second'], queryFn: async () => (await body(api.GET('/system/users/totp'))).params }),
  /** The audit log, newest first; the next page has older entries. */
  audit: infiniteQueryOptions({
    queryKey: ['people', 'audit'],
    queryFn: async ({ pageParam }) => (await body(api.GET('/audit', { params: { query: { limit: entries, before: pageParam } } }))).params,
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (last) => (last.length === entries && last[entries - 1].number > 1 ? last[entries - 1].number : undefined),
  }),
};
