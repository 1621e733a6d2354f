import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { body, request } from '../api/client';
import type { Settings } from '../api/fields';
import { object } from '../api/files';
import { useBody } from '../form/body';
import { SchemaForm } from '../form/form';
import { pick, withTitles } from '../form/with-titles';
import { NoSuchPage } from '../ui/no-such-page';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Pills } from '../ui/pills';
import { Problem } from '../ui/problem';
import { setSource, sources, type Source } from './sources';

/** The fields of each section, in the order of use. */
const fields: Record<Source, string[]> = {
  services: ['local', 'ldap'],
  ldap: ['host', 'port', 'security', 'ca', 'base_dn', 'filter', 'scope', 'bind_dn', 'bind_password', 'timeout'],
  oidc: ['enabled', 'issuer', 'ca', 'client_id', 'client_secret', 'redirect', 'landing', 'scopes', 'user_claim', 'users', 'group_claim', 'groups'],
};

/** SigningPage configures which services authenticate users. */
export function SigningPage() {
  const { t } = useTranslation();
  const { source = 'services' } = useParams({ strict: false }) as { source?: Source };
  return (
    <Stack>
      <Pills base="/people/signing" at={source} tabs={sources} word={(s) => t(`signing.${s}`)} />
      {sources.includes(source) ? <SourceSettings key={source} of={source} /> : <NoSuchPage />}
    </Stack>
  );
}

function SourceSettings({ of }: { of: Source }) {
  const { t } = useTranslation();
  const may = useMay();
  const seen = useQuery({ queryKey: ['people', 'signing', of], queryFn: () => object<Settings>('rbac', of) });
  const body = useBody('put', `/rbac/${of}`);
  const schema = useMemo(() => withTitles(pick(body, fields[of]), t), [body, t, of]);
  if (!seen.data || !schema) return <QueryView of={seen}>{() => null}</QueryView>;
  const before = seen.data;
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t(`signing.${of}_about`)}
      </Text>
      <SchemaForm id={`rbac ${of}`} schema={schema} when="update" seen={before} change={(sent) => setSource(of, before, sent, t(`signing.${of}`))} off={may.button('root')} />
      {of === 'ldap' && <Trial />}
    </Stack>
  );
}

/** Trial tests the connection to the directory. */
function Trial() {
  const { t } = useTranslation();
  const test = useMutation({ mutationFn: async () => (await body(request('POST', ['rbac', 'ldap', 'actions'], { action: 'test' }))) as { message: string } });
  return (
    <Stack gap="xs">
      <Group>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t('signing.test')}
        </Button>
        <Text size="sm" c="dimmed">
          {t('signing.test_about')}
        </Text>
      </Group>
      {test.data && (
        <Alert color="green" role="status">
          {test.data.message}
        </Alert>
      )}
      {test.error && <Problem error={test.error} />}
    </Stack>
  );
}
