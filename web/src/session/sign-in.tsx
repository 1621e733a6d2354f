import { Alert, Button, Card, Center, Image, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { queries } from '../api/queries';
import { userBefore } from '../api/rights';
import { forgetUser } from './hide-pages';
import { signIn } from './session';

/** Whether OpenID Connect is enabled, from a tag in the page. */
const provided = document.querySelector<HTMLMetaElement>('meta[name="oidc"]')?.content === 'true';

/** SignIn is the sign-in page; ended means that the pages of a user are hidden because the session ended. */
export function SignIn({ ended }: { ended: boolean }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const enter = useMutation({
    mutationFn: () => signIn(user, password, code),
    onSuccess: () => {
      if (userBefore() === user) return client.resetQueries({ queryKey: queries.who.queryKey });
      forgetUser();
      return client.resetQueries();
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    enter.mutate();
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder shadow="sm" w="100%" maw={380} p="xl">
        <form onSubmit={submit}>
          <Stack>
            <Image src="/gui/icon.svg" alt="" w={40} h={40} />
            <Title order={1} size="h3">
              {t('sign_in.title')}
            </Title>
            {ended && <Text size="sm">{t('sign_in.ended')}</Text>}
            {enter.error && (
              <Alert color="red" role="alert">
                {problem(enter.error, t)}
              </Alert>
            )}
            <TextInput label={t('sign_in.user')} autoComplete="username" autoFocus required value={user} onChange={(e) => setUser(e.currentTarget.value)} />
            <PasswordInput
              label={t('sign_in.password')}
              autoComplete="current-password"
              required
              value={password}
              onChange={(e) => setPassword(e.currentTarget.value)}
              visibilityToggleButtonProps={{ 'aria-label': t('sign_in.show') }}
            />
            <TextInput
              label={t('sign_in.code')}
              description={t('sign_in.code_help')}
              autoComplete="one-time-code"
              inputMode="numeric"
              value={code}
              onChange={(e) => setCode(e.currentTarget.value)}
            />
            <Button type="submit" loading={enter.isPending}>
              {t('sign_in.enter')}
            </Button>
            {provided && (
              <Button component="a" variant="default" {...(ended && { target: '_blank' })} href={`/api/v4.0/session/oidc?to=${encodeURIComponent(location.pathname)}`}>
                {t('sign_in.provider')}
              </Button>
            )}
          </Stack>
        </form>
      </Card>
    </Center>
  );
}

/** The error in plain words; the appliance's message if it is more specific. */
function problem(error: unknown, t: (key: string) => string): string {
  if (!(error instanceof Refused)) return String(error);
  if (error.status === 0) return t('problem.unreachable');
  if (error.status === 401 && error.message === 'Authorization required') return t('sign_in.wrong');
  return error.message;
}
