import { useQuery } from '@tanstack/react-query';
import { queries } from '../api/queries';
import { includes } from '../api/rights';

/**
 * Whether the signed-in user has a permission, as farm.modify. It decides what is
 * shown as possible; the API decides what is.
 */
export function useMay(): (permission: string) => boolean {
  const rights = useQuery(queries.rights).data;
  return (permission) => rights !== undefined && includes(rights, permission);
}

/** Whether root is signed in, who alone has some things: keys, sessions of others. */
export function useRoot(): boolean {
  return useQuery(queries.who).data?.params.user === 'root';
}
