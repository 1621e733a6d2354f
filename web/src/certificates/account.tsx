import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { object } from '../api/files';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { pick, withTitles } from '../form/with-titles';
import { useMay } from '../session/may';
import { setACME } from './actions';

const fields = ['email', 'directory', 'staging', 'ca', 'hook', 'dns_wait', 'dns_servers'];

/** Account shows the ACME authority and the account for orders. */
export function Account({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const seen = useQuery({ queryKey: ['certificates', 'acme'], queryFn: () => object<Settings>('certificates', 'letsencryptz', 'config') });
  const body = useBody('put', '/certificates/letsencryptz/config');
  const schema = useMemo(() => withTitles(pick(body, fields), t), [body, t]);
  return (
    <FormDrawer title={t('orders.settings')} close={close} id="acme" of={seen} schema={seen.data && schema} when="update" seen={seen.data ?? {}} change={(sent) => setACME(sent, t('orders.settings'))} off={may.call({ method: 'PUT', path: '/certificates/letsencryptz/config' })}>
      <Text size="sm" c="dimmed">
        {t('orders.settings_about')}
      </Text>
    </FormDrawer>
  );
}
