import { Card, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { components } from '../api/schema';
import { DataTable, type Column } from '../ui/data-table';
import { FarmLink } from '../ui/farm-link';
import { count, duration } from '../ui/numbers';

type Row = components['schemas']['BackendHeadroom'];

const percent = (n: number | null | undefined) => (n === null || n === undefined ? '–' : `${n.toFixed(0)} %`);

/** Headroom is how much more each backend of a farm can take, as its traffic has taught. */
export function Headroom({ farm }: { farm: string }) {
  const { t } = useTranslation();
  const rows = useQuery(queries.headroom(farm)).data?.params ?? [];
  if (rows.length === 0) return null;
  return (
    <Card withBorder p={0} component="section" aria-labelledby="headroom">
      <Title order={2} size="h4" id="headroom" p="md" pb="xs">
        {t('headroom.title')}
      </Title>
      <Rooms rows={rows} />
    </Card>
  );
}

/** Rooms are backends with what is left of each. */
export function Rooms({ rows, farms = false }: { rows: Row[]; farms?: boolean }) {
  const { t } = useTranslation();
  const of: Column<Row>[] = farms ? [{ head: t('farms.name'), cell: (r) => <FarmLink farm={r.farm} /> }] : [];
  return (
    <DataTable
      label={t('headroom.title')}
      rows={rows}
      id={(r) => `${r.farm} ${r.service} ${r.id}`}
      empty={t('headroom.none')}
      columns={[
        ...of,
        { head: t('backends.backend'), cell: (r) => `${r.service ?? ''} ${r.alias || `${r.ip}:${r.port ?? ''}`}` },
        { head: t('headroom.left'), cell: (r) => percent(r.headroom), number: true },
        { head: t('headroom.peak'), cell: (r) => percent(r.headroom_peak), number: true },
        { head: t('headroom.limit'), cell: (r) => count(r.limit), number: true },
        { head: t('headroom.latency'), cell: (r) => duration(r.base_latency), number: true },
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
