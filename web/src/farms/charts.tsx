import { Button, Card, Group, Loader, SegmentedControl, SimpleGrid, Switch, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries, type Span } from '../api/queries';
import { count, duration } from '../ui/numbers';
import { Problem } from '../ui/problem';
import { Chart, type Mark, type Range } from './chart';

/** The charts: at most two series on one axis. */
const all = [
  { title: 'charts.requests', names: ['requests', 'connections'], write: count },
  { title: 'charts.latency', names: ['p50', 'p99'], write: duration },
  { title: 'charts.errors', names: ['errors'], write: count },
];
const ranges = ['10m', '1h', '24h', '7d'];
const day = 86_400;
const nothing: never[] = [];

/** Queries of a gslb farm have no exchange with a backend. */
const names = all.filter((d) => d.title !== 'charts.latency');

const spanOf = (r: Range, shift = 0): Span => ({ from: new Date((r.from - shift) * 1000).toISOString(), to: new Date((r.to - shift) * 1000).toISOString() });

/** Charts shows the counters of a farm over time, with the previous day and events. */
export function Charts({ farm, profile }: { farm: string; profile: string }) {
  const { t } = useTranslation();
  const drawn = profile === 'gslb' ? names : all;
  const [last, setLast] = useState('1h');
  const [zoomed, zoom] = useState<Range>();
  const [comparing, compare] = useState(false);
  const series = useQuery(queries.series(farm, zoomed ? spanOf(zoomed) : { last }));
  const data = series.data?.params;
  const start = data ? Date.parse(data.start) / 1000 : 0;
  const length = data?.series?.[0]?.values?.length ?? 0;
  const earlier = useQuery({ ...queries.series(farm, data ? spanOf({ from: start, to: start + length * data.step }, day) : { last }), enabled: comparing && data !== undefined }).data?.params;
  const marks = useMarks(farm, last);
  const lines = useMemo(() => drawn.map((d) => d.names.flatMap((n) => (data?.series ?? []).filter((s) => s.name === n))), [drawn, data]);
  const before = useMemo(() => drawn.map((d) => (comparing ? d.names.flatMap((n) => (earlier?.series ?? []).filter((s) => s.name === n)) : nothing)), [drawn, comparing, earlier]);
  return (
    <Card withBorder component="section" aria-labelledby="charts">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="charts">
          {t('charts.title')}
        </Title>
        <Group gap="xs">
          <Switch size="xs" label={t('charts.compare')} checked={comparing} onChange={(e) => compare(e.currentTarget.checked)} />
          {zoomed && (
            <Button size="compact-xs" variant="default" onClick={() => zoom(undefined)}>
              {t('charts.whole')}
            </Button>
          )}
          <SegmentedControl size="xs" value={last} onChange={(r) => (setLast(r), zoom(undefined))} data={ranges.map((r) => ({ value: r, label: t(`range.${r}`) }))} aria-label={t('charts.range')} />
        </Group>
      </Group>
      {series.error && <Problem error={series.error} again={() => void series.refetch()} />}
      {series.isPending && <Loader size="sm" aria-label="…" />}
      {data && (
        <>
          <SimpleGrid cols={{ base: 1, md: drawn.length }}>
            {drawn.map((d, i) => (
              <Chart key={d.title} title={t(d.title)} start={data.start} step={data.step} lines={lines[i]} before={before[i]} marks={marks} zoom={zoom} write={d.write} />
            ))}
          </SimpleGrid>
          <Text size="xs" c="dimmed" mt="xs">
            {t('charts.help')}
          </Text>
        </>
      )}
    </Card>
  );
}

/** Changes of the farm and of its health, as marks on the time axis. */
function useMarks(farm: string, since: string): Mark[] {
  const entries = useQuery(queries.timeline({ farm, since })).data?.params;
  return useMemo(() => (entries ?? []).map((e) => ({ at: Date.parse(e.time) / 1000, bad: e.severity !== 'info' })), [entries]);
}
