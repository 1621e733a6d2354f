import type { queries } from './queries';

type Body<Q extends { queryFn?: unknown }> = Q['queryFn'] extends ((...a: never[]) => infer R) | undefined | symbol ? Awaited<R> : never;

/** A farm with its counters, as in lists. */
export type FarmNumbers = NonNullable<Body<typeof queries.farms>['farms']>[number];

/** An entry of the timeline. */
export type Entry = NonNullable<Body<ReturnType<typeof queries.timeline>>['params']>[number];

/** A backend with its counters. */
export type BackendNumbers = NonNullable<Body<ReturnType<typeof queries.numbers>>['backends']>[number];
