import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { object } from '../api/files';
import { queries } from '../api/queries';
import { SchemaForm } from '../form/form';
import { useMay } from '../session/may';
import { setGlobal } from './actions';
import { QueryView } from '../ui/query-view';

/** Fields that exist only for compatibility with the product family. */
const without = ['arp_announce', 'duplicated_network', 'force', 'http_farm_stop_grace_time', 'l4xnat_sip_params', 'proxy_new_generation', 'ssyncd', 'waf_assistant'];

/** SystemSettings is the form for the settings of the appliance itself. */
export function SystemSettings() {
  const { t } = useTranslation();
  const may = useMay();
  const seen = useQuery({ queryKey: ['system', 'global'], queryFn: () => object<Settings>('system', 'global') });
  const schemas = useQuery(queries.schemas);
  if (!seen.data || !schemas.data) return <QueryView of={seen.data ? schemas : seen}>{() => null}</QueryView>;
  return <SchemaForm id="system global" schema={schemas.data.settings} when="update" seen={seen.data} without={without} change={(sent) => setGlobal(sent, t('system_tab.settings'))} off={may.button('system-service.modify')} />;
}
