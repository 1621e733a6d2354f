import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { queries } from '../api/queries';

/** Warnings shows problems in the zones of a farm, or in one zone. */
export function Warnings({ farm, zone }: { farm: string; zone?: string }) {
  const found = useQuery(queries.findings).data?.params ?? [];
  return (
    <>
      {found
        .filter((f) => f.farm === farm && f.field === 'zones' && (!zone || f.message.startsWith(`zone ${zone}: `)))
        .map((f) => (
          <Alert key={f.message} color="yellow" p="xs">
            {f.message}
          </Alert>
        ))}
    </>
  );
}
