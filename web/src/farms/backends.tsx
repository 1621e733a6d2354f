import { Button, Card, Group, Menu, Title, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { useMay } from '../session/may';
import { endpoint } from '../ui/address';
import { DataTable, type Column } from '../ui/data-table';
import { backendFailures } from '../ui/failures';
import { count, duration } from '../ui/numbers';
import { State } from '../ui/state';
import { maintenance, removeBackend, type Target } from './actions';
import { BackendForm, type Edited } from './backend-form';
import { Evidence } from './evidence';
import type { BackendNumbers } from '../api/types';

type Props = { farm: string; profile: string; service?: string; backends: BackendNumbers[]; change: (c: Change) => void };

/** Backends shows the backends of a farm by service, or of one service. The state of each links to its evidence. */
export function Backends({ farm, profile, service, backends, change }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const [asked, ask] = useState<Target & { name: string }>();
  const [edited, edit] = useState<Edited>();
  const services = useQuery({ ...queries.farm(farm), enabled: profile === 'gslb' }).data?.services;
  const configured = (b: BackendNumbers) => services?.find((s) => s.id === b.service)?.backends?.find((c) => c.id === b.id);
  const measured: Column<BackendNumbers>[] = [
    { head: t('farms.open'), cell: (b) => count(b.established), number: true },
    { head: t('backends.requests'), cell: (b) => count(b.counters.requests || b.counters.connects || 0), number: true },
    { head: t('backends.failures'), cell: (b) => count(backendFailures(b.counters)), number: true },
    { head: t('backends.time'), cell: (b) => (b.counters.response_time ? duration(b.counters.response_time) : '–'), number: true },
  ];
  /** No client connects through a gslb farm, so the relevant columns are those by which its backends are chosen. */
  const chosenBy: Column<BackendNumbers>[] = [
    { head: t('backends.weight'), cell: (b) => configured(b)?.weight ?? 1, number: true },
    { head: t('backends.priority'), cell: (b) => configured(b)?.priority ?? 1, number: true },
    { head: t('backends.nets'), cell: (b) => netsOf(configured(b)) },
  ];
  return (
    <Card withBorder p={0} component="section" aria-labelledby="backends">
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2} size="h4" id="backends">
          {t('backends.title')}
        </Title>
        {(service !== undefined || profile === 'l4xnat') && (
          <Button size="xs" variant="default" {...may.button('farm.modify')} onClick={() => edit({ service: service ?? null })}>
            {t('backends.add')}
          </Button>
        )}
      </Group>
      <DataTable
        label={t('backends.title')}
        rows={backends}
        id={(b) => `${b.service} ${b.id}`}
        empty={t(service === undefined ? 'backends.none' : 'backends.none_here')}
        minWidth={720}
        columns={[
          ...(service === undefined ? [{ head: t('backends.service'), cell: (b: BackendNumbers) => b.service }] : []),
          {
            head: t('backends.backend'),
            cell: (b) => (
              <>
                {b.alias && <b>{b.alias} </b>}
                {addressOf(b)}
              </>
            ),
          },
          {
            head: t('farms.state'),
            cell: (b) => (
              <UnstyledButton onClick={() => ask({ ...targetOf(farm, b), name: nameOf(b) })}>
                <State of={b.status ?? b.actual} /> <VisuallyHidden>{t('backends.why', { name: nameOf(b) })}</VisuallyHidden>
              </UnstyledButton>
            ),
          },
          ...(profile === 'gslb' ? chosenBy : measured),
        ]}
        actions={(b) => <Actions farm={farm} of={b} connected={profile !== 'gslb'} change={change} edit={edit} />}
      />
      {edited && <BackendForm farm={farm} of={edited} close={() => edit(undefined)} />}
      {asked && <Evidence of={asked} name={asked.name} close={() => ask(undefined)} />}
    </Card>
  );
}

/** Backends of gslb farms have no port. */
const addressOf = (b: BackendNumbers) => endpoint(b.ip, b.port);
const nameOf = (b: BackendNumbers) => b.alias || addressOf(b);
const netsOf = (b: object | undefined) => (b && 'nets' in b && Array.isArray(b.nets) && b.nets.join(', ')) || '–';
const targetOf = (farm: string, b: BackendNumbers): Target => ({ farm, service: b.service ?? null, backend: b.id });

type ActionsProps = { farm: string; of: BackendNumbers; connected: boolean; change: Props['change']; edit: (e: Edited) => void };

/** Actions is the menu of a backend. */
function Actions({ farm, of: b, connected, change, edit }: ActionsProps) {
  const { t } = useTranslation();
  const may = useMay();
  const name = nameOf(b);
  const target = targetOf(farm, b);
  const to = (mode: 'drain' | 'cut' | 'up') => change(maintenance(target, mode, t(`backends.${mode}_title`, { name })));
  return (
    <>
      <Button size="compact-sm" variant="default" {...may.button('farm.modify')} aria-label={`${t('form.edit')} ${name}`} onClick={() => edit({ service: target.service, backend: b.id })}>
        {t('form.edit')}
      </Button>
      {b.maintenance === 'none' ? (
        <Menu>
          <Menu.Target>
            <Button size="compact-sm" variant="default" {...may.button('farm.maintenance')}>
              {t('backends.out')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => to('drain')}>{t(connected ? 'backends.drain' : 'backends.unanswered')}</Menu.Item>
            {connected && <Menu.Item onClick={() => to('cut')}>{t('backends.cut', { count: b.established })}</Menu.Item>}
            <Menu.Item {...may.button('farm.modify')} onClick={() => change(removeBackend(target, t('backends.delete_title', { name })))}>
              {t('backends.delete')}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ) : (
        <Button size="compact-sm" {...may.button('farm.maintenance')} onClick={() => to('up')}>
          {t('backends.up')}
        </Button>
      )}
    </>
  );
}
