import { Alert, Badge, Button, Card, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { Entries } from '../timeline/entries';
import { Problem } from '../ui/problem';
import { State } from '../ui/state';
import { action } from './actions';
import { Backends } from './backends';
import { Explain } from './explain';
import { Headroom } from './headroom';
import { Rehearsal } from './rehearsal';

const Charts = lazy(() => import('./charts').then((m) => ({ default: m.Charts })));

/** FarmPage is one farm: its state and why, its backends, its traffic, what happened to it. */
export function FarmPage() {
  const { t } = useTranslation();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const numbers = useQuery(queries.numbers(farm));
  const timeline = useQuery(queries.timeline(farm));
  const problem = useQuery(queries.status).data?.params.farms?.find((f) => f.farmname === farm)?.problem;
  const [change, setChange] = useState<Change>();
  const may = useMay();
  if (numbers.error) return <Problem error={numbers.error} again={() => void numbers.refetch()} />;
  if (!numbers.data?.farm) return <Loader size="sm" aria-label="…" />;
  const f = numbers.data.farm;
  const running = f.configured === 'up';
  const act = (what: 'start' | 'stop' | 'restart') => setChange(action(farm, what, t(`farm.${what}`, { farm })));
  return (
    <Stack>
      <Group justify="space-between" align="start">
        <Group>
          <Title order={1} size="h2" className="text">
            {farm}
          </Title>
          <State of={f.status} />
          <Badge variant="default" tt="none">
            {f.profile} {f.vip}:{f.vport}
          </Badge>
        </Group>
        <Button.Group>
          {running ? (
            <>
              <Button variant="default" disabled={!may('farm.action')} onClick={() => act('restart')}>
                {t('farm.restart_short')}
              </Button>
              <Button variant="default" disabled={!may('farm.action')} onClick={() => act('stop')}>
                {t('farm.stop_short')}
              </Button>
            </>
          ) : (
            <Button disabled={!may('farm.action')} onClick={() => act('start')}>
              {t('farm.start_short')}
            </Button>
          )}
        </Button.Group>
      </Group>
      {problem && <Alert color="red">{problem}</Alert>}
      <Backends farm={farm} backends={numbers.data.backends ?? []} change={setChange} />
      <Headroom farm={farm} />
      <Suspense fallback={<Loader size="sm" aria-label="…" />}>
        <Charts farm={farm} />
      </Suspense>
      {f.profile !== 'l4xnat' && <Explain farm={farm} vport={f.vport} secure={f.profile === 'https'} />}
      <Card withBorder component="section" aria-labelledby="happened">
        <Title order={2} size="h4" id="happened" mb="xs">
          {t('nav.timeline')}
        </Title>
        {timeline.data?.params?.length ? <Entries of={[...timeline.data.params].reverse().slice(0, 20)} causes /> : <Text c="dimmed">{t('timeline.empty')}</Text>}
      </Card>
      {change && (
        <ChangeDialog change={change} close={() => setChange(undefined)}>
          {change.without && <Rehearsal of={change.without} />}
        </ChangeDialog>
      )}
    </Stack>
  );
}
