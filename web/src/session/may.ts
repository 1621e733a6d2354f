import { useQuery } from '@tanstack/react-query';
import { queries } from '../api/queries';

/**
 * What the signed-in user sees of a part of the appliance. It decides what is
 * shown as possible; the API decides what is.
 */
export function useMay(): (part: string) => boolean {
  const menus = useQuery(queries.menus).data?.params as Record<string, string> | undefined;
  return (part) => menus?.[part] === 'true';
}
