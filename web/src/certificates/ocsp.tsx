import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { object } from '../api/files';
import { useBody } from '../form/body';
import { SchemaForm } from '../form/form';
import { pick, withTitles } from '../form/with-titles';
import { useMay } from '../session/may';
import { setOCSP } from './actions';
import { QueryView } from '../ui/query-view';

const fields = ['enabled', 'private_responders'];

/** OCSPSettings shows how OCSP responses are fetched and stapled. */
export function OCSPSettings() {
  const { t } = useTranslation();
  const may = useMay();
  const seen = useQuery({ queryKey: ['certificates', 'ocsp'], queryFn: () => object<Settings>('certificates', 'ocsp') });
  const body = useBody('put', '/certificates/ocsp');
  const schema = useMemo(() => withTitles(pick(body, fields), t), [body, t]);
  if (!seen.data || !schema) return <QueryView of={seen}>{() => null}</QueryView>;
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('certificates.ocsp_about')}
      </Text>
      <SchemaForm id="ocsp" schema={schema} when="update" seen={seen.data} change={(sent) => setOCSP(sent, 'OCSP')} off={may.call({ method: 'PUT', path: '/certificates/ocsp' })} />
    </Stack>
  );
}
