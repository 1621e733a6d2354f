import { useTranslation } from 'react-i18next';
import { Tabbed } from '../ui/tabbed';

const tabs = ['list', 'authorities', 'orders', 'ocsp'];

/** CertificatesLayout is the navigation among certificates, authorities, orders and OCSP. */
export function CertificatesLayout() {
  const { t } = useTranslation();
  return <Tabbed title={t('nav.certificates')} base="/certificates" tabs={tabs} word={(tab) => t(`certificates_tab.${tab}`)} />;
}
