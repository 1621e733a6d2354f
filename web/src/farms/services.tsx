import { ActionIcon, Anchor, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState, type DragEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { queries, type Service } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { Waiting } from '../form/drawer';
import { SchemaForm } from '../form/form';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Problem } from '../ui/problem';
import { State } from '../ui/state';
import { createService, createServiceAt, moveService, remove, takesAll } from './actions';
import { BackendForm } from './backend-form';
import { schemaOf } from './schema';
import { endpoint } from '../ui/address';
import { Modal } from '../ui/dialog';

/** FarmServices lists the services of a farm: in matching order, or those of a gslb farm. */
export function FarmServices() {
  const { t } = useTranslation();
  const may = useMay();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const asked = useQuery(queries.farm(farm));
  const object = asked.data;
  const services = object?.services ?? [];
  const names = object?.params.profile === 'gslb';
  const [creating, create] = useState(false);
  const [change, setChange] = useState<Change>();
  const [adding, addTo] = useState<string>();
  const [dragged, drag] = useState<string>();
  const move = (name: string, to: number) => setChange(moveService(farm, name, to, t('services.move', { name, to: to + 1 })));
  const drop = (e: DragEvent, to: number) => {
    e.preventDefault();
    if (dragged && services[to]?.id !== dragged) move(dragged, to);
    drag(undefined);
  };
  if (!object) return <QueryView of={asked}>{() => null}</QueryView>;
  return (
    <Stack>
      {asked.error && <Problem error={asked.error} again={() => void asked.refetch()} />}
      <Group justify="space-between">
        <Text c="dimmed" size="sm">
          {t(names ? 'services.names' : 'services.order')}
        </Text>
        <Button size="xs" {...may.button('farm.modify')} onClick={() => create(true)}>
          {t('services.add')}
        </Button>
      </Group>
      {services.length === 0 && <Text c="dimmed">{t(names ? 'services.no_names' : 'services.none')}</Text>}
      {services.map((s, i) => (
        <Card key={s.id} withBorder component="section" aria-label={s.id} draggable={may('farm.modify') && !names} onDragStart={() => drag(s.id)} onDragOver={(e) => e.preventDefault()} onDrop={(e) => drop(e, i)}>
          <Group justify="space-between" align="start">
            <div>
              <Group gap="xs">
                {!names && (
                  <Text c="dimmed" size="sm">
                    {i + 1}
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
            <Group gap={4}>
              {!names && (
                <>
                  <ActionIcon variant="default" {...may.button('farm.modify', i === 0)} aria-label={t('form.up', { name: s.id })} onClick={() => move(s.id, i - 1)}>
                    ↑
                  </ActionIcon>
                  <ActionIcon variant="default" {...may.button('farm.modify', i === services.length - 1)} aria-label={t('form.down', { name: s.id })} onClick={() => move(s.id, i + 1)}>
                    ↓
                  </ActionIcon>
                </>
              )}
              <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={() => addTo(s.id)} aria-label={t('backends.add_to', { name: s.id })}>
                {t('backends.add')}
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                {...may.button('farm.modify')}
                aria-label={t('services.delete', { name: s.id })}
                onClick={() => setChange(remove(t('services.delete', { name: s.id }), ['farms', farm, 'services', s.id], `sluice service delete ${farm} ${s.id}`))}
              >
                {t('form.delete')}
              </Button>
            </Group>
          </Group>
        </Card>
      ))}
      {creating && <NewService farm={farm} profile={String(object.params.profile)} services={services} close={() => create(false)} />}
      {adding && <BackendForm farm={farm} of={{ service: adding }} close={() => addTo(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

/** About describes a service by its matches, or by its algorithm. */
function About({ of: s }: { of: Service }) {
  const { t } = useTranslation();
  if ('algorithm' in s) return <>{`${s.algorithm} · ${t('services.ttl', { seconds: s.ttl })} · ${t('services.all_down', { answer: s.all_down })}`}</>;
  return <>{[s.vhost && `${t('services.host')} ${s.vhost}`, s.urlp && `${t('services.url')} ${s.urlp}`].filter(Boolean).join(' · ') || t('services.all')}</>;
}

/** NewService creates a reachable service: before the last one, if that matches every request. */
function NewService({ farm, profile, services, close }: { farm: string; profile: string; services: Service[]; close: () => void }) {
  const { t } = useTranslation();
  const schemas = useQuery(queries.schemas).data;
  const last = services.at(-1);
  const all = profile !== 'gslb' && last && takesAll(last) ? last : undefined;
  const make = (body: Settings) => {
    const title = t('services.create', { name: String(body.id ?? '') });
    return all && !takesAll(body) ? createServiceAt(farm, body, services.length - 1, title) : createService(farm, body, title);
  };
  return (
    <Modal opened onClose={close} size="xl" title={t('services.add')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {schemas ? (
        <SchemaForm id={`service ${farm}`} schema={schemaOf(schemas, profile, 'service')} when="create" seen={{}} change={make} done={close}>
          {all && <Text size="sm">{t('services.before', { name: all.id })}</Text>}
        </SchemaForm>
      ) : (
        <Waiting />
      )}
    </Modal>
  );
}
