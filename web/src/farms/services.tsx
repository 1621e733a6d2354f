import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
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
import { createService, createServiceAt, moveService, takesAll } from './actions';
import { BackendForm } from './backend-form';
import { schemaOf } from './schema';
import { ServiceCard } from './service-card';
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
        <ServiceCard key={s.id} farm={farm} service={s} position={i} last={i === services.length - 1} move={names ? undefined : (to) => move(s.id, to)} addBackend={() => addTo(s.id)} show={setChange} drag={() => drag(s.id)} drop={(e) => drop(e, i)} />
      ))}
      {creating && <NewService farm={farm} profile={String(object.params.profile)} services={services} close={() => create(false)} />}
      {adding && <BackendForm farm={farm} of={{ service: adding }} close={() => addTo(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
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
