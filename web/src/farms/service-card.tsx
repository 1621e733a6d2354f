import { ActionIcon, Anchor, Button, Card, Group, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { DragEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Service } from '../api/queries';
import type { Change } from '../change/change';
import { useMay } from '../session/may';
import { endpoint } from '../ui/address';
import { State } from '../ui/state';
import { remove } from './actions';

type Props = {
  farm: string;
  service: Service;
  position: number;
  last: boolean;
  /** Moves the service; undefined if the order of the services does not matter. */
  move?: (to: number) => void;
  addBackend: () => void;
  show: (c: Change) => void;
  drag: () => void;
  drop: (e: DragEvent) => void;
};

/** ServiceCard is a service in the list: its matches, its backends, and its actions. */
export function ServiceCard({ farm, service: s, position, last, move, addBackend, show, drag, drop }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const removal = t('services.delete', { name: s.id });
  return (
    <Card withBorder component="section" aria-label={s.id} draggable={may('farm.modify') && move !== undefined} onDragStart={drag} onDragOver={(e) => e.preventDefault()} onDrop={drop}>
      <Group justify="space-between" align="start">
        <Summary farm={farm} service={s} position={move && position} />
        <Group gap={4}>
          {move && (
            <>
              <ActionIcon variant="default" {...may.button('farm.modify', position === 0)} aria-label={t('form.up', { name: s.id })} onClick={() => move(position - 1)}>
                ↑
              </ActionIcon>
              <ActionIcon variant="default" {...may.button('farm.modify', last)} aria-label={t('form.down', { name: s.id })} onClick={() => move(position + 1)}>
                ↓
              </ActionIcon>
            </>
          )}
          <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={addBackend} aria-label={t('backends.add_to', { name: s.id })}>
            {t('backends.add')}
          </Button>
          <Button size="compact-sm" variant="default" {...may.button('farm.modify')} aria-label={removal} onClick={() => show(remove(removal, ['farms', farm, 'services', s.id], `sluice service delete ${farm} ${s.id}`))}>
            {t('form.delete')}
          </Button>
        </Group>
      </Group>
    </Card>
  );
}

/** Summary names a service with its position, state, matches and backends. */
function Summary({ farm, service: s, position }: { farm: string; service: Service; position?: number }) {
  const { t } = useTranslation();
  return (
    <div>
      <Group gap="xs">
        {position !== undefined && (
          <Text c="dimmed" size="sm">
            {position + 1}
          </Text>
        )}
        <Title order={2} size="h5">
          <Anchor className="text" renderRoot={(props) => <Link to="/farms/$farm/services/$service" params={{ farm, service: s.id }} {...props} />}>
            {s.id}
          </Anchor>
        </Title>
        <State of={s.maintenance === 'none' ? s.actual : 'maintenance'} />
      </Group>
      <Text size="sm" className="text">
        <About of={s} />
      </Text>
      <Text size="sm" c="dimmed" className="text">
        {'redirect' in s && s.redirect ? `→ ${s.redirect}` : (s.backends ?? []).map((b) => b.alias || endpoint(b.ip, 'port' in b ? b.port : null)).join(', ') || t('services.no_backend')}
      </Text>
    </div>
  );
}

/** About describes a service by its matches, or by its algorithm. */
function About({ of: s }: { of: Service }) {
  const { t } = useTranslation();
  if ('algorithm' in s) return <>{`${s.algorithm} · ${t('services.ttl', { seconds: s.ttl })} · ${t('services.all_down', { answer: s.all_down })}`}</>;
  return <>{[s.vhost && `${t('services.host')} ${s.vhost}`, s.urlp && `${t('services.url')} ${s.urlp}`].filter(Boolean).join(' · ') || t('services.all')}</>;
}
