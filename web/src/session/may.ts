import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { queries } from '../api/queries';
import { includes, lacking, reasonAgainst, type Call } from '../api/rights';

/** The properties of a button that the user may not press: disabled, with the reason. */
export type Off = { disabled: boolean; title?: string };

/** The rights of the signed-in user. They decide what the pages offer; the API enforces them. */
export type May = {
  /** Whether the user has a permission, e.g. farm.modify. */
  (permission: string): boolean;
  /** The properties of a button that needs a permission; off means that it is disabled for another reason. */
  button: (permission: string, off?: boolean) => Off;
  /** Whether the user sees all farms. */
  allFarms: boolean;
  /** The properties of a button that makes a call. */
  call: (call: Call | undefined, off?: boolean) => Off;
};

/** Returns the rights of the signed-in user; none before they are known. */
export function useMay(): May {
  const rights = useQuery(queries.rights).data;
  return useMemo(() => {
    const state = (title: string | undefined, off: boolean): Off => (title === undefined ? { disabled: off || !rights } : { disabled: true, title });
    const may = (permission: string) => rights !== undefined && includes(rights, permission);
    return Object.assign(may, {
      allFarms: rights?.allFarms ?? false,
      button: (permission: string, off = false) => state(rights && lacking(rights, permission), off),
      call: (call: Call | undefined, off = false) => state(rights && call && reasonAgainst(rights, call), off),
    });
  }, [rights]);
}

/** Whether root is signed in. Some functions are for root only, e.g. keys and sessions of other users. */
export function useRoot(): boolean {
  return useQuery(queries.who).data?.params.user === 'root';
}
