import { Card, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { Boundary } from '../ui/boundary';
import { lazyComponent } from '../ui/lazy-component';
import { TitledPage } from '../ui/titled-page';
import { Problem } from '../ui/problem';
import { Attention } from './attention';
import { Recent } from './recent';
import { FarmTiles } from './tiles';
import { count, duration } from '../ui/numbers';
import { useRates } from '../farms/rates';
import type { FarmNumbers } from '../api/types';

const WhichWay = lazyComponent(async () => (await import('./which-way')).WhichWay);

/** Dashboard answers the daily questions: what is exposed, is it healthy, what changed, what needs attention. */
export function Dashboard() {
  const { t } = useTranslation();
  const farms = useQuery(queries.farms);
  if (farms.error && !farms.data) {
    return (
      <TitledPage title={t('nav.dashboard')}>
        <Problem error={farms.error} again={() => void farms.refetch()} />
      </TitledPage>
    );
  }
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.dashboard')}
      </Title>
      {farms.error && <Problem error={farms.error} again={() => void farms.refetch()} />}
      <Figures />
      <Attention />
      <FarmTiles farms={farms.data?.farms} />
      <Boundary>
        <WhichWay farms={farms.data?.farms} />
      </Boundary>
      <Recent />
    </Stack>
  );
}

/** Figures summarises the node and its traffic. */
function Figures() {
  const { t } = useTranslation();
  const farms = useQuery(queries.farms);
  const machine = useQuery(queries.machine).data?.params;
  const { total } = useRates(farms.data?.farms, farms.dataUpdatedAt);
  const established = farms.data?.farms?.reduce((sum, f) => sum + f.established, 0);
  const slowest = farms.data?.farms?.reduce((worst, f) => ((f.p99 ?? 0) > (worst?.p99 ?? 0) ? f : worst), undefined as FarmNumbers | undefined);
  const memory = machine && (100 * machine.memory.MemUsed) / machine.memory.MemTotal;
  const figures: [string, string][] = [
    [t('figure.farms'), count(farms.data?.farms?.length)],
    [t('figure.requests'), count(total.requests)],
    [t('figure.connections'), count(established)],
    [t('figure.errors'), count(total.errors)],
    [t('figure.latency'), slowest ? `${duration(slowest.p50)} / ${duration(slowest.p99)}` : '–'],
    [t('figure.cpu'), machine ? `${machine.cpu.usage.toFixed(0)} %` : '–'],
    [t('figure.memory'), memory === undefined ? '–' : `${memory.toFixed(0)} %`],
  ];
  return (
    <SimpleGrid cols={{ base: 2, xs: 4, lg: 7 }} component="dl" m={0}>
      {figures.map(([name, value]) => (
        <Card key={name} withBorder p="sm">
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} fz={24} fw={650} className="number" ta="left">
            {value}
          </Text>
        </Card>
      ))}
    </SimpleGrid>
  );
}
