import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { Backends } from './backends';

/** ServiceBackends shows the backends of one service. */
export function ServiceBackends({ farm, profile, service }: { farm: string; profile: string; service: string }) {
  const all = useQuery(queries.numbers(farm)).data?.backends ?? [];
  const [change, setChange] = useState<Change>();
  return (
    <>
      <Backends farm={farm} profile={profile} service={service} backends={all.filter((b) => b.service === service)} change={setChange} />
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </>
  );
}
