import { Card, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { components } from '../api/schema';
import { QueryView } from '../ui/query-view';
import { DataTable, type Column } from '../ui/data-table';
import { FarmLink } from '../ui/farm-link';
import { endpoint } from '../ui/address';
import { latency, limit, percent, requests } from './figures';

type Row = components['schemas']['BackendHeadroom'];

/** Headroom shows the spare capacity of each backend of a farm, estimated from its traffic. */
export function Headroom({ farm }: { farm: string }) {
  const { t } = useTranslation();
  const asked = useQuery(queries.headroom(farm));
  const rows = asked.data?.params ?? [];
  if (rows.length === 0 && !asked.error) return null;
  return (
    <Card withBorder p={0} component="section" aria-labelledby="headroom">
      <Title order={2} size="h4" id="headroom" p="md" pb="xs">
        {t('headroom.title')}
      </Title>
      <QueryView of={asked}>{() => <Rooms rows={rows} />}</QueryView>
    </Card>
  );
}

/** Rooms is the table of backends with their spare capacity. */
export function Rooms({ rows, farms = false }: { rows: Row[]; farms?: boolean }) {
  const { t } = useTranslation();
  const of: Column<Row>[] = farms ? [{ head: t('farms.name'), cell: (r) => <FarmLink farm={r.farm} /> }] : [];
  return (
    <DataTable
      label={t('headroom.title')}
      rows={rows}
      id={(r) => `${r.farm} ${r.service} ${r.id}`}
      empty={t('headroom.none')}
      minWidth={1080}
      columns={[
        ...of,
        { head: t('backends.service'), cell: (r) => r.service },
        { head: t('backends.backend'), cell: (r) => r.alias || endpoint(r.ip, r.port) },
        { head: t('headroom.latency'), cell: (r) => latency(r.base_latency), number: true },
        { head: t('headroom.limit'), cell: (r) => limit(r.limit, r.bend), number: true },
        { head: t('headroom.now'), cell: (r) => requests(r.under_way), number: true },
        { head: t('headroom.most'), cell: (r) => requests(r.peak), number: true },
        { head: t('headroom.left'), cell: (r) => percent(r.headroom), number: true },
        { head: t('headroom.peak'), cell: (r) => percent(r.headroom_peak), number: true },
        { head: t('headroom.connection_limit'), cell: (r) => r.connection_limit ?? '–', number: true },
        { head: t('headroom.weight'), cell: (r) => r.weight ?? '–', number: true },
        {
          head: t('headroom.why'),
          cell: (r) => (
            <>
              <Text size="sm">{r.text}</Text>
              {r.advice && (
                <Text size="xs" c="dimmed">
                  {r.advice}
                </Text>
              )}
            </>
          ),
        },
      ]}
    />
  );
}
