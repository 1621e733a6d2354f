import { Drawer, Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { SchemaForm } from '../form/form';
import type { Seen } from '../form/values';
import { createBackend, setBackend } from './actions';
import { schemaOf } from './schema';

/** Which backend is edited; none for a new one. */
export type Edited = { service: string | null; backend?: number };

/** BackendForm creates or changes a backend beside the page. */
export function BackendForm({ farm, of, close }: { farm: string; of: Edited; close: () => void }) {
  const { t } = useTranslation();
  const schemas = useQuery(queries.schemas).data;
  const object = useQuery(queries.farm(farm)).data;
  const { service, backend } = of;
  const all = service ? object?.services.find((s) => s.id === service)?.backends : object?.backends;
  const seen = (all as (Seen & { id: number })[] | undefined)?.find((b) => b.id === backend);
  const name = String(seen?.alias || (seen && `${String(seen.ip)}:${String(seen.port ?? '')}`) || '');
  const title = backend === undefined ? t('backends.add_to', { name: service ?? farm }) : t('backends.edit', { name });
  return (
    <Drawer opened onClose={close} position="right" size="lg" title={title} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {!schemas || !object || (backend !== undefined && !seen) ? (
        <Loader size="sm" aria-label="…" />
      ) : (
        <SchemaForm
          id={`backend ${farm} ${service} ${backend}`}
          schema={schemaOf(schemas, String(object.params.profile), 'backend')}
          farmSchema={schemaOf(schemas, String(object.params.profile), 'farm')}
          farm={object.params as Seen}
          when={backend === undefined ? 'create' : 'update'}
          seen={seen ?? {}}
          change={(body) => (backend === undefined ? createBackend(farm, service, body, title) : setBackend({ farm, service, backend }, body, title))}
          done={close}
        />
      )}
    </Drawer>
  );
}
