import { Alert, List, Loader, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { endpoint } from '../ui/address';
import { Problem } from '../ui/problem';

const colours = { fits: 'green', 'not known': 'yellow', 'does not fit': 'red' } as const;

/**
 * Rehearsal shows which backends would take over from a backend, and whether they have the capacity, before it is taken
 * out of service.
 */
export function Rehearsal({ of }: { of: string[] }) {
  const { t } = useTranslation();
  const played = useQuery({ queryKey: ['rehearsal', of], queryFn: () => body(api.POST('/rehearsals', { body: { backends: of } })), staleTime: 0, gcTime: 0, retry: false });
  if (played.isPending) return <Loader size="sm" aria-label="…" />;
  if (played.error) return <Problem error={played.error} />;
  const said = played.data.params;
  return (
    <Alert color={colours[said.verdict]} title={t('rehearsal.title')}>
      <Text size="sm" className="text">
        {said.text}
      </Text>
      <List size="sm">
        {(said.groups ?? []).flatMap((g) =>
          (g.backends ?? []).map((b) => (
            <List.Item key={`${g.service} ${b.id}`}>
              {endpoint(b.ip, b.port)} – {b.text}
            </List.Item>
          )),
        )}
      </List>
    </Alert>
  );
}
