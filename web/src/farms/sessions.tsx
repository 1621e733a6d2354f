import { Button, Card, Group, Select, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, request } from '../api/client';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { done, failed } from '../ui/notify';
import { Problem } from '../ui/problem';

type Session = { id: number; session: string; client?: string; backend_ip?: string; backend_port?: number | null; ttl?: string; type: string };

/** FarmSessions shows the current persistence sessions and their backends. */
export function FarmSessions() {
  const { t } = useTranslation();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const asked = useQuery(queries.farm(farm));
  const object = asked.data;
  const [chosen, choose] = useState<string | null>(null);
  if (!object) return <QueryView of={asked}>{() => null}</QueryView>;
  const flat = object.params.profile === 'l4xnat';
  const services = object.services.map((s) => s.id);
  const service = flat ? null : (chosen ?? services[0]);
  return (
    <Card withBorder p={0} component="section" aria-label={t('tab.sessions')}>
      {services.length > 1 && <Select m="md" mb={0} w={220} label={t('backends.service')} data={services} value={service} onChange={choose} allowDeselect={false} />}
      {flat || service ? <SessionTable key={service} parts={service ? ['farms', farm, 'services', service, 'sessions'] : ['farms', farm, 'sessions']} /> : null}
    </Card>
  );
}

/** The number of sessions requested at once. */
const most = 200;

function SessionTable({ parts }: { parts: string[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const client = useQueryClient();
  const [wanted, want] = useState('');
  const key = ['sessions', ...parts, wanted];
  const sessions = useQuery({
    queryKey: key,
    queryFn: async () => (await body(request('GET', parts, undefined, { limit: String(most), ...(wanted ? { session: wanted } : {}) }))) as { params: Session[]; total_sessions: number },
    refetchInterval: 5_000,
  });
  const end = useMutation({
    mutationFn: (s: Session) => body(request('DELETE', [...parts, s.session])),
    onSuccess: (_, s) => {
      done(t('sessions.ended', { name: s.session }));
      void client.invalidateQueries({ queryKey: ['sessions'] });
    },
    onError: failed,
  });
  const rows = sessions.data?.params ?? [];
  return (
    <>
      <Group p="md" align="end">
        <TextInput size="xs" label={t('sessions.find')} value={wanted} onChange={(e) => want(e.currentTarget.value)} />
        <Text size="sm" c="dimmed" role="status">
          {sessions.data && t('sessions.count', { count: sessions.data.total_sessions })}
        </Text>
      </Group>
      {sessions.error && <Problem error={sessions.error} />}
      {sessions.data && (
        <DataTable
          label={t('tab.sessions')}
          rows={rows}
          id={(s) => `${s.type} ${s.session}`}
          empty={t('sessions.none')}
          columns={[
            { head: t('sessions.session'), cell: (s) => s.session },
            { head: t('trace.client'), cell: (s) => s.client },
            { head: t('backends.backend'), cell: (s) => `${s.backend_ip}${s.backend_port ? `:${s.backend_port}` : ''}` },
            { head: t('sessions.left'), cell: (s) => s.ttl },
            { head: t('sessions.kind'), cell: (s) => s.type },
          ]}
          actions={(s) => (
            <Button size="compact-xs" variant="default" {...may.button('farm.modify')} onClick={() => end.mutate(s)} aria-label={`${t('form.delete')}: ${s.session}`}>
              {t('form.delete')}
            </Button>
          )}
        />
      )}
    </>
  );
}
