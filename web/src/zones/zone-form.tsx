import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { FormDrawer } from '../form/drawer';
import { createZone, setZone } from './actions';
import type { Zone } from './types';

/** ZoneForm creates a zone, or changes its settings. */
export function ZoneForm({ farm, name, zone, close }: { farm: string; /** The zone that is changed, none for a new one. */ name?: string; zone?: Zone; close: () => void }) {
  const { t } = useTranslation();
  const schema = useQuery(queries.schemas).data?.gslb_zone;
  const title = name !== undefined ? t('zones.set', { name }) : t('zones.add');
  return (
    <FormDrawer
      title={title}
      close={close}
      gone={zone ? undefined : name}
      id={`zone ${farm} ${name ?? ''}`}
      schema={schema}
      when={zone ? 'update' : 'create'}
      seen={{ ...zone }}
      narrow
      change={(body) => (zone ? setZone(farm, zone.id, body, title) : createZone(farm, body, t('zones.create', { name: String(body.id ?? '') })))}
    />
  );
}
