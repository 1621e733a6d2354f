import { Alert, Badge, Button, Group, Loader, Stack, Tabs, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useNavigate, useParams, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { endpoint } from '../ui/address';
import { NoSuchPage } from '../ui/no-such-page';
import { isGone } from '../ui/query-view';
import { Back } from '../ui/back';
import { TitledPage } from '../ui/titled-page';
import { Problem } from '../ui/problem';
import { State, stateOf } from '../ui/state';
import { action, remove } from './actions';

/** The pages of a farm by its profile, as suffixes of their addresses. */
const tabs = {
  http: ['overview', 'services', 'settings', 'sessions', 'trace', 'log'],
  l4xnat: ['overview', 'settings', 'sessions', 'trace', 'log'],
  gslb: ['overview', 'zones', 'services', 'settings', 'trace', 'log'],
} as const;
const tabsOf = (profile: string) => (profile in tabs ? tabs[profile as keyof typeof tabs] : tabs.http);

/** FarmLayout is the common part of a farm's pages: its name, state, actions and navigation. */
export function FarmLayout() {
  const { t } = useTranslation();
  const go = useNavigate();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const at = useRouterState({ select: (s) => s.location.pathname.split(`/farms/${encodeURIComponent(farm)}`)[1]?.split('/')[1] || 'overview' });
  const numbers = useQuery(queries.numbers(farm));
  const problem = useQuery(queries.status).data?.params.farms?.find((f) => f.farmname === farm)?.problem;
  const [change, setChange] = useState<Change & { gone?: boolean }>();
  const may = useMay();
  if (!numbers.data?.farm || isGone(numbers.error)) {
    return (
      <TitledPage title={farm}>
        {numbers.error ? (
          <Problem error={numbers.error} again={() => void numbers.refetch()}>
            <Back to="/farms">{t('nav.farms')}</Back>
          </Problem>
        ) : (
          <Loader size="sm" aria-label="…" />
        )}
      </TitledPage>
    );
  }
  const f = numbers.data.farm;
  const act = (what: 'start' | 'stop' | 'restart') => setChange(action(farm, what, t(`farm.${what}`, { farm })));
  return (
    <Stack>
      <Group justify="space-between" align="start">
        <Group>
          <Title order={1} size="h2" className="text">
            {farm}
          </Title>
          <State of={stateOf({ status: f.status, configured: f.configured, problem })} />
          <Badge variant="default" tt="none">
            {f.profile} {endpoint(f.vip, f.vport)}
          </Badge>
        </Group>
        <Button.Group>
          {f.configured === 'up' ? (
            <>
              <Button variant="default" {...may.button('farm.action')} onClick={() => act('restart')}>
                {t('farm.restart_short')}
              </Button>
              <Button variant="default" {...may.button('farm.action')} onClick={() => act('stop')}>
                {t('farm.stop_short')}
              </Button>
            </>
          ) : (
            <Button {...may.button('farm.action')} onClick={() => act('start')}>
              {t('farm.start_short')}
            </Button>
          )}
          <Button variant="default" {...may.button('farm.delete')} onClick={() => setChange({ ...remove(t('farm.delete', { farm }), ['farms', farm], `sluice farm delete ${farm}`), gone: true })}>
            {t('farm.delete_short')}
          </Button>
        </Button.Group>
      </Group>
      {numbers.error && <Problem error={numbers.error} again={() => void numbers.refetch()} />}
      {f.comment && (
        <Text c="dimmed" className="text">
          {f.comment}
        </Text>
      )}
      {problem && <Alert color="red">{problem}</Alert>}
      <Tabs value={at} onChange={(to) => void go({ to: to === 'overview' ? '/farms/$farm' : `/farms/$farm/${to}`, params: { farm } })}>
        <Tabs.List>
          {tabsOf(f.profile).map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {t(`tab.${tab}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {tabsOf(f.profile).some((tab) => tab === at) ? <Outlet /> : <NoSuchPage />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={change.gone ? () => void go({ to: '/farms' }) : undefined} />}
    </Stack>
  );
}
