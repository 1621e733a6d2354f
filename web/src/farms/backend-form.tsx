import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { queries } from '../api/queries';
import { FormDrawer } from '../form/drawer';
import { createBackend, setBackend } from './actions';
import { schemaOf } from './schema';
import { endpoint } from '../ui/address';

/** The edited backend; none for a new one. */
export type Edited = { service: string | null; backend?: number };

/** BackendForm creates or changes a backend in a drawer. */
export function BackendForm({ farm, of: { service, backend }, close }: { farm: string; of: Edited; close: () => void }) {
  const { t } = useTranslation();
  const schemas = useQuery(queries.schemas).data;
  const object = useQuery(queries.farm(farm)).data;
  const all = service ? object?.services.find((s) => s.id === service)?.backends : object?.backends;
  const seen = (all as (Settings & { id: number })[] | undefined)?.find((b) => b.id === backend);
  const before = useRef(seen); // kept in case somebody else deletes it
  if (seen) before.current = seen;
  const name = String(before.current?.alias || (before.current && endpoint(String(before.current.ip ?? ''), before.current.port as number | null)) || '');
  const title = backend === undefined ? t('backends.add_to', { name: service ?? farm }) : t('backends.edit', { name });
  const known = schemas && object && (backend === undefined || seen);
  const profile = String(object?.params.profile);
  return (
    <FormDrawer
      title={title}
      close={close}
      gone={object && backend !== undefined && !seen ? name || String(backend) : undefined}
      id={`backend ${farm} ${service} ${backend}`}
      schema={known ? schemaOf(schemas, profile, 'backend') : undefined}
      farmSchema={schemas && schemaOf(schemas, profile, 'farm')}
      farm={object?.params}
      when={backend === undefined ? 'create' : 'update'}
      seen={seen ?? {}}
      change={(body) => (backend === undefined ? createBackend(farm, service, body, title) : setBackend({ farm, service, backend }, body, title))}
    />
  );
}
