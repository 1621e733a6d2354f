import { Button, Card, Group, Menu, Title, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { useMay } from '../session/may';
import { DataTable } from '../ui/data-table';
import { count, duration } from '../ui/numbers';
import { State } from '../ui/state';
import { maintenance, removeBackend, type Target } from './actions';
import { BackendForm, type Edited } from './backend-form';
import { Evidence } from './evidence';
import type { BackendNumbers } from './types';

type Props = { farm: string; profile: string; backends: BackendNumbers[]; change: (c: Change) => void };

/** Backends are who answers for a farm, by service; the state of each leads to its evidence. */
export function Backends({ farm, profile, backends, change }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const [asked, ask] = useState<Target & { name: string }>();
  const [edited, edit] = useState<Edited>();
  return (
    <Card withBorder p={0} component="section" aria-labelledby="backends">
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2} size="h4" id="backends">
          {t('backends.title')}
        </Title>
        {profile === 'l4xnat' && (
          <Button size="xs" variant="default" disabled={!may('farm.modify')} onClick={() => edit({ service: null })}>
            {t('backends.add')}
          </Button>
        )}
      </Group>
      <DataTable
        label={t('backends.title')}
        rows={backends}
        id={(b) => `${b.service} ${b.id}`}
        empty={t('backends.none')}
        minWidth={720}
        columns={[
          { head: t('backends.service'), cell: (b) => b.service },
          {
            head: t('backends.backend'),
            cell: (b) => (
              <>
                {b.alias && <b>{b.alias} </b>}
                {b.ip}:{b.port}
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
          { head: t('farms.open'), cell: (b) => count(b.established), number: true },
          { head: t('backends.requests'), cell: (b) => count(b.counters.requests || b.counters.connects || 0), number: true },
          { head: t('backends.failures'), cell: (b) => count((b.counters.connect_failures ?? 0) + (b.counters.resets ?? 0) + (b.counters.timeouts ?? 0)), number: true },
          { head: t('backends.time'), cell: (b) => (b.counters.response_time ? duration(b.counters.response_time) : '–'), number: true },
        ]}
        actions={(b) => <Actions farm={farm} of={b} change={change} edit={edit} />}
      />
      {edited && <BackendForm farm={farm} of={edited} close={() => edit(undefined)} />}
      {asked && <Evidence of={asked} name={asked.name} close={() => ask(undefined)} />}
    </Card>
  );
}

const nameOf = (b: BackendNumbers) => b.alias || `${b.ip}:${b.port}`;
const targetOf = (farm: string, b: BackendNumbers): Target => ({ farm, service: b.service ?? null, backend: b.id });

type ActionsProps = { farm: string; of: BackendNumbers; change: Props['change']; edit: (e: Edited) => void };

/** Actions are what can be done with a backend. */
function Actions({ farm, of: b, change, edit }: ActionsProps) {
  const { t } = useTranslation();
  const may = useMay();
  const name = nameOf(b);
  const target = targetOf(farm, b);
  const to = (mode: 'drain' | 'cut' | 'up') => change(maintenance(target, mode, t(`backends.${mode}_title`, { name })));
  return (
    <>
      <Button size="compact-sm" variant="default" disabled={!may('farm.modify')} aria-label={`${t('form.edit')} ${name}`} onClick={() => edit({ service: target.service, backend: b.id })}>
        {t('form.edit')}
      </Button>
      {b.maintenance === 'none' ? (
        <Menu>
          <Menu.Target>
            <Button size="compact-sm" variant="default" disabled={!may('farm.maintenance')}>
              {t('backends.out')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => to('drain')}>{t('backends.drain')}</Menu.Item>
            <Menu.Item onClick={() => to('cut')}>{t('backends.cut', { count: b.established })}</Menu.Item>
            <Menu.Item disabled={!may('farm.modify')} onClick={() => change(removeBackend(target, t('backends.delete_title', { name })))}>
              {t('backends.delete')}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ) : (
        <Button size="compact-sm" disabled={!may('farm.maintenance')} onClick={() => to('up')}>
          {t('backends.up')}
        </Button>
      )}
    </>
  );
}
