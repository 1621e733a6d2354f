import { Card, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Field } from '../api/fields';
import { queries } from '../api/queries';
import { useBody } from '../form/body';
import { withTexts } from '../form/with-texts';
import { SchemaForm } from '../form/form';
import { QueryView } from '../ui/query-view';
import { SecondFactor } from './second';
import { SessionList } from './sessions';
import { diffLines, steps } from './steps';

/** AccountPage is for the user's own password, second factor, key and sessions. */
export function AccountPage() {
  const { t } = useTranslation();
  const own = useQuery(queries.own);
  return (
    <Stack maw={960}>
      <Title order={1} size="h2">
        {t('nav.account')}
      </Title>
      <QueryView of={own}>
        {(me) => (
          <>
            <Text c="dimmed">{t('account.who', { user: me.user, service: t(`service.${me.service}`) })}</Text>
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Stack>
                <Part id="password" title={t('account.password')}>
                  {me.service === 'local' ? <OwnForm id="password" fields={{ password: {}, newpassword: {} }} seen={{}} /> : <Text c="dimmed">{t('account.elsewhere')}</Text>}
                </Part>
                <Part id="key" title={t('account.key')}>
                  <OwnForm id="key" fields={{ zapikey: {}, zapi_permissions: {} }} seen={{ ...me }} />
                </Part>
              </Stack>
              <Stack>
                <Part id="second" title={t('user.second')}>
                  <SecondFactor />
                </Part>
              </Stack>
            </SimpleGrid>
            <Part id="sessions" title={t('account.sessions')}>
              <SessionList user={me.user} />
            </Part>
          </>
        )}
      </QueryView>
    </Stack>
  );
}

function Part({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <Card withBorder component="section" aria-labelledby={id}>
      <Title order={2} size="h4" id={id} mb="sm">
        {title}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </Card>
  );
}

/** OwnForm changes some of the user's own settings. */
function OwnForm({ id, fields, seen }: { id: string; fields: Record<string, Partial<Field>>; seen: Record<string, unknown> }) {
  const { t } = useTranslation();
  const schema = withTexts(useBody('post', '/system/users'), fields, (key) => t(`own_field.${key}`));
  if (!schema) return null;
  const title = t(id === 'password' ? 'account.set_password' : 'account.set_key');
  return (
    <SchemaForm
      id={`own ${id}`}
      schema={schema}
      when="update"
      seen={seen}
      narrow
      change={(body) => steps(title, [{ command: '', method: 'POST', parts: ['system', 'users'], sent: body }], diffLines(seen, body))}
    >
      <Text size="sm" c="dimmed">
        {t('account.again')}
      </Text>
    </SchemaForm>
  );
}
