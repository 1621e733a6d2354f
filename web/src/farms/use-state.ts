import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { queries } from '../api/queries';
import { stateOf } from '../ui/state';
import type { FarmNumbers } from '../api/types';

type Known = Pick<FarmNumbers, 'farmname' | 'status' | 'configured'>;

/** useFarmState returns a function for the state of farms, from their counters and from the problems in the status. */
export function useFarmState(): (f: Known) => string {
  const farms = useQuery(queries.status).data?.params.farms;
  return useMemo(() => {
    const problems = new Map(farms?.map((f) => [f.farmname, f.problem]));
    return (f) => stateOf({ status: f.status, configured: f.configured, problem: problems.get(f.farmname) });
  }, [farms]);
}
