import { Alert, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body, Refused } from '../api/client';
import { isWaiting, onWaiting, settle } from '../api/confirm';
import { queries } from '../api/queries';
import { LazyModal } from '../ui/lazy-modal';
import { confirmedPage, onConfirmed } from './confirmed-tab';

/** ConfirmDialog asks for the password before calls that create credentials which outlive the session. */
export function ConfirmDialog() {
  const { t } = useTranslation();
  const opened = useSyncExternalStore(onWaiting, isWaiting);
  return (
    <LazyModal opened={opened} onClose={() => settle(false)} title={t('confirm_session.title')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {opened && <ConfirmForm />}
    </LazyModal>
  );
}

function ConfirmForm() {
  const { t } = useTranslation();
  const own = useQuery(queries.own).data;
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const confirm = useMutation({
    mutationFn: () => body(api.POST('/session/confirm', { body: code ? { password, code } : { password } })),
    onSuccess: () => settle(true),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    e.stopPropagation(); // do not submit the form below
    confirm.mutate();
  };
  if (own?.service === 'oidc') return <ProviderForm user={own.user} />;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>{t('confirm_session.help')}</Text>
        {confirm.error && (
          <Alert color="red" role="alert">
            {confirm.error instanceof Refused ? confirm.error.message : String(confirm.error)}
          </Alert>
        )}
        <PasswordInput
          label={t('sign_in.password')}
          autoComplete="current-password"
          data-autofocus
          required
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': t('sign_in.show') }}
        />
        {own?.totp === 'true' && (
          <TextInput label={t('sign_in.code')} autoComplete="one-time-code" inputMode="numeric" required value={code} onChange={(e) => setCode(e.currentTarget.value)} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => settle(false)}>
            {t('confirm_session.cancel')}
          </Button>
          <Button type="submit" loading={confirm.isPending}>
            {t('confirm_session.confirm')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** ProviderForm confirms the session at the provider, in another tab: what was typed in this one stays. */
function ProviderForm({ user }: { user: string }) {
  const { t } = useTranslation();
  const proceed = useMutation({
    mutationFn: () => body(api.GET('/system/users')),
    onSuccess: (now) => (now.params.user === user ? settle(true) : location.assign('/gui/')), // calls of one user are not sent by another
  });
  const { mutate } = proceed;
  useEffect(() => {
    const stop = onConfirmed(() => mutate());
    return () => stop();
  }, [mutate]);
  return (
    <Stack>
      <Text>{t('confirm_session.provider_help')}</Text>
      {proceed.error && (
        <Alert color="red" role="alert">
          {proceed.error instanceof Refused ? proceed.error.message : String(proceed.error)}
        </Alert>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={() => settle(false)}>
          {t('confirm_session.cancel')}
        </Button>
        <Button variant="default" loading={proceed.isPending} onClick={() => mutate()}>
          {t('confirm_session.proceed')}
        </Button>
        <Button component="a" target="_blank" href={`/api/v4.0/session/oidc?reauthenticate=true&to=${encodeURIComponent(confirmedPage)}`}>
          {t('sign_in.provider')}
        </Button>
      </Group>
    </Stack>
  );
}
