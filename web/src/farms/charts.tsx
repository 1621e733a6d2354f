import { Card, Group, Loader, SegmentedControl, SimpleGrid, Text, Title, useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { queries } from '../api/queries';
import { count, duration } from '../ui/numbers';
import { Problem } from '../ui/problem';

/** What is drawn, two lines at most on one axis. */
const drawn = [
  { title: 'charts.requests', names: ['requests', 'connections'], write: count },
  { title: 'charts.latency', names: ['p50', 'p99'], write: duration },
  { title: 'charts.errors', names: ['errors'], write: count },
];
const ranges = ['10m', '1h', '24h', '7d'];

/** Charts are the numbers of a farm over time. */
export function Charts({ farm }: { farm: string }) {
  const { t } = useTranslation();
  const [last, setLast] = useState('1h');
  const series = useQuery(queries.series(farm, last));
  const data = series.data?.params;
  return (
    <Card withBorder component="section" aria-labelledby="charts">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="charts">
          {t('charts.title')}
        </Title>
        <SegmentedControl size="xs" value={last} onChange={setLast} data={ranges.map((r) => ({ value: r, label: t(`range.${r}`) }))} aria-label={t('charts.range')} />
      </Group>
      {series.error && <Problem error={series.error} again={() => void series.refetch()} />}
      {series.isPending && <Loader size="sm" aria-label="…" />}
      {data && (
        <SimpleGrid cols={{ base: 1, md: 3 }}>
          {drawn.map((d) => {
            const lines = d.names.flatMap((n) => (data.series ?? []).filter((s) => s.name === n));
            return <Chart key={d.title} title={t(d.title)} start={data.start} step={data.step} lines={lines} write={d.write} />;
          })}
        </SimpleGrid>
      )}
    </Card>
  );
}

type Line = { name: string; values?: (number | null)[] | null };

function Chart({ title, start, step, lines, write }: { title: string; start: string; step: number; lines: Line[]; write: (n: number | null | undefined) => string }) {
  const { t } = useTranslation();
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const dark = useComputedColorScheme('light') === 'dark';
  const first = Date.parse(start) / 1000;
  const length = lines[0]?.values?.length ?? 0;
  useEffect(() => {
    if (!place.current || width === 0 || length === 0) return;
    const ink = dark ? '#c9c9c9' : '#495057';
    const grid = { stroke: dark ? '#3a3a3a' : '#e9ecef', width: 1 };
    const colours = dark ? ['#3bc9db', '#ffa94d'] : ['#0b7285', '#d9480f'];
    const times = Array.from({ length }, (_, i) => first + i * step);
    const plot = new uPlot(
      {
        width,
        height: 160,
        legend: { show: lines.length > 1, live: false },
        axes: [
          { stroke: ink, grid },
          { stroke: ink, grid, size: 64, values: (_, ticks) => ticks.map(write) },
        ],
        series: [{}, ...lines.map((l, i) => ({ label: l.name, stroke: colours[i], width: 1.5}))],
        scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.1 : 1] } },
      },
      [times, ...lines.map((l) => l.values ?? [])] as uPlot.AlignedData,
      place.current,
    );
    return () => plot.destroy();
  }, [width, dark, first, step, length, lines, write]);
  return (
    <div ref={ref} role="group" aria-label={title}>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      {length === 0 ? (
        <Text c="dimmed" size="sm">
          {t('charts.none')}
        </Text>
      ) : (
        <div ref={place} />
      )}
    </div>
  );
}
