import { Button, Card, Group, Menu, Table, Text, Title, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Wide } from '../ui/wide';
import type { Change } from '../change/change';
import { useMay } from '../session/may';
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
      {backends.length === 0 && (
        <Text c="dimmed" p="md" pt={0}>
          {t('backends.none')}
        </Text>
      )}
      {backends.length > 0 && (
        <Wide label={t('backends.title')} minWidth={720}>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                {['backends.service', 'backends.backend', 'farms.state'].map((w) => (
                  <Table.Th key={w}>{t(w)}</Table.Th>
                ))}
                {['farms.open', 'backends.requests', 'backends.failures', 'backends.time'].map((w) => (
                  <Table.Th key={w} ta="right">
                    {t(w)}
                  </Table.Th>
                ))}
                <Table.Th>
                  <Text span fz={0}>
                    {t('history.actions')}
                  </Text>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {backends.map((b) => (
                <Row key={`${b.service} ${b.id}`} farm={farm} of={b} change={change} ask={ask} edit={edit} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {edited && <BackendForm farm={farm} of={edited} close={() => edit(undefined)} />}
      {asked && <Evidence of={asked} name={asked.name} close={() => ask(undefined)} />}
    </Card>
  );
}

type RowProps = { farm: string; of: BackendNumbers; change: Props['change']; ask: (t: Target & { name: string }) => void; edit: (e: Edited) => void };

function Row({ farm, of: b, change, ask, edit }: RowProps) {
  const { t } = useTranslation();
  const may = useMay();
  const name = b.alias || `${b.ip}:${b.port}`;
  const target: Target = { farm, service: b.service ?? null, backend: b.id };
  const to = (mode: 'drain' | 'cut' | 'up') => change(maintenance(target, mode, t(`backends.${mode}_title`, { name })));
  const c = b.counters;
  return (
    <Table.Tr>
      <Table.Td className="text">{b.service}</Table.Td>
      <Table.Td className="text">
        {b.alias && <b>{b.alias} </b>}
        {b.ip}:{b.port}
      </Table.Td>
      <Table.Td>
        <UnstyledButton onClick={() => ask({ ...target, name })}>
          <State of={b.status ?? b.actual} /> <VisuallyHidden>{t('backends.why', { name })}</VisuallyHidden>
        </UnstyledButton>
      </Table.Td>
      <Table.Td className="number">{count(b.established)}</Table.Td>
      <Table.Td className="number">{count(c.requests || c.connects || 0)}</Table.Td>
      <Table.Td className="number">{count((c.connect_failures ?? 0) + (c.resets ?? 0) + (c.timeouts ?? 0))}</Table.Td>
      <Table.Td className="number">{c.response_time ? duration(c.response_time) : '–'}</Table.Td>
      <Table.Td>
        <Group justify="flex-end" gap={4} wrap="nowrap">
          <Button size="compact-sm" variant="default" disabled={!may('farm.modify')} aria-label={`${t('form.edit')} ${name}`} onClick={() => edit({ service: b.service ?? null, backend: b.id })}>
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
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
