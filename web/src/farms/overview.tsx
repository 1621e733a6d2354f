import { Card, Loader, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { Entries } from '../timeline/entries';
import { QueryView } from '../ui/query-view';
import { Boundary } from '../ui/boundary';
import { lazyComponent } from '../ui/lazy-component';
import { Passport } from '../zones/passport';
import { Questions } from '../zones/questions';
import { Backends } from './backends';
import { Explain } from './explain';
import { ExplainConnection } from './explain-connection';
import { Headroom } from '../headroom/headroom';
import { Rehearsal } from '../headroom/rehearsal';

const Charts = lazyComponent(async () => (await import('./charts')).Charts, <Loader size="sm" aria-label="…" />);

/** FarmOverview summarises a farm: its backends, traffic and recent events. */
export function FarmOverview() {
  const { t } = useTranslation();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const numbers = useQuery(queries.numbers(farm)).data;
  const timeline = useQuery(queries.timeline({ farm }));
  const [change, setChange] = useState<Change>();
  if (!numbers?.farm) return null;
  const f = numbers.farm;
  return (
    <>
      <Backends farm={farm} profile={f.profile} backends={numbers.backends ?? []} change={setChange} />
      <Headroom farm={farm} />
      {f.counters.dns && <Questions of={f.counters.dns} />}
      <Boundary>
        <Charts farm={farm} profile={f.profile} />
      </Boundary>
      {f.profile === 'gslb' && <Passport farm={farm} />}
      {f.profile === 'l4xnat' && <ExplainConnection farm={farm} />}
      {(f.profile === 'http' || f.profile === 'https') && <Explain farm={farm} vport={f.vport} secure={f.profile === 'https'} />}
      <Card withBorder component="section" aria-labelledby="happened">
        <Title order={2} size="h4" id="happened" mb="xs">
          {t('nav.timeline')}
        </Title>
        <QueryView of={timeline}>{({ params }) => (params?.length ? <Entries of={params.slice(0, 20)} causes /> : <Text c="dimmed">{t('timeline.empty')}</Text>)}</QueryView>
      </Card>
      {change && (
        <ChangeDialog change={change} close={() => setChange(undefined)}>
          {change.without && f.profile !== 'gslb' && <Rehearsal of={[change.without]} />}
        </ChangeDialog>
      )}
    </>
  );
}
