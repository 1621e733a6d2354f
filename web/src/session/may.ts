import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { queries } from '../api/queries';
import { includes, lacking, reasonAgainst, type Call } from '../api/rights';

/** What a button has that somebody may not press: it is off, and says why. */
export type Off = { disabled: boolean; title?: string };

/** What the signed-in user may do. It decides what is shown as possible; the API decides what is. */
export type May = {
  /** Whether the user has a permission, e.g. farm.modify. */
  (permission: string): boolean;
  /** The state of a button that needs a permission; off says that it is disabled for another reason. */
  button: (permission: string, off?: boolean) => Off;
  /** Whether the user sees all farms. */
  allFarms: boolean;
  /** The state of a button that makes a call. */
  call: (call: Call | undefined, off?: boolean) => Off;
};

/** Returns what the signed-in user may do. Before the rights are known, that is nothing. */
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

/** Whether root is signed in, who alone has some things: keys, sessions of others. */
export function useRoot(): boolean {
  return useQuery(queries.who).data?.params.user === 'root';
}
