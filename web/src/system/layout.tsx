import { useTranslation } from 'react-i18next';
import { Tabbed } from '../ui/tabbed';

const tabs = ['overview', 'settings', 'machine', 'aliases', 'geoip', 'backups', 'logs'];

/** SystemLayout is the navigation of the pages about the appliance and its machine. */
export function SystemLayout() {
  const { t } = useTranslation();
  return <Tabbed title={t('nav.system')} base="/system" tabs={tabs} word={(tab) => t(`system_tab.${tab}`)} />;
}
