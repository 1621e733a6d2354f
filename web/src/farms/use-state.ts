import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { queries } from '../api/queries';
import { stateOf } from '../ui/state';
import type { FarmNumbers } from './types';

type Known = Pick<FarmNumbers, 'farmname' | 'status' | 'configured'>;

/** useFarmState tells the state of farms, by their numbers and by the problems that the status names. */
export function useFarmState(): (f: Known) => string {
  const farms = useQuery(queries.status).data?.params.farms;
  return useMemo(() => {
    const problems = new Map(farms?.map((f) => [f.farmname, f.problem]));
    return (f) => stateOf({ status: f.status, configured: f.configured, problem: problems.get(f.farmname) });
  }, [farms]);
}
