import { Button, Group, Stack, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useBody } from '../form/body';
import { Waiting } from '../form/drawer';
import { SchemaForm } from '../form/form';
import { pick, withTitles } from '../form/with-titles';
import { OneTimeText } from '../ui/one-time-text';
import { createRequest } from './actions';
import { Drawer } from '../ui/dialog';

const fields = ['name', 'fqdn', 'san', 'organization', 'division', 'locality', 'state', 'country', 'mail'];

/** NewRequest creates a key and a CSR, and shows the CSR for the authority. The key stays on the appliance. */
export function NewRequest({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const body = useBody('post', '/certificates');
  const schema = useMemo(() => withTitles(pick(body, fields), t), [body, t]);
  const [csr, setCSR] = useState('');
  return (
    <Drawer opened onClose={close} position="right" size="lg" title={t('certificates.new_csr')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {csr ? (
        <Stack>
          <Text size="sm">{t('certificates.csr_about')}</Text>
          <OneTimeText label={t('certificates.csr')} text={csr} />
          <Group justify="flex-end">
            <Button onClick={close}>{t('palette.close')}</Button>
          </Group>
        </Stack>
      ) : schema ? (
        <SchemaForm id="new csr" schema={schema} when="create" seen={{}} change={(sent) => createRequest(sent, t('certificates.create_csr', { name: String(sent.name ?? '') }), setCSR)} />
      ) : (
        <Waiting />
      )}
    </Drawer>
  );
}
