import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { useForgetting } from '../form/draft';
import { Problem } from '../ui/problem';

type Name = 'password' | 'code';
type Props = { fields: Name[]; button: string; error: unknown; pending: boolean; send: (sent: Record<Name, string>) => void };

/** SecretForm asks for a password or a code and shows an error beside a wrong one. It does not keep them. */
export function SecretForm({ fields, button, error, pending, send }: Props) {
  const { t } = useTranslation();
  const [typed, type] = useState({ password: '', code: '' });
  useForgetting(() => type({ password: '', code: '' }));
  const wrong = (name: Name) => (error instanceof Refused && error.field === name ? error.message : undefined);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    send(typed);
    type({ ...typed, code: '' });
  };
  const shared = (name: Name) => ({ name, value: typed[name], error: wrong(name), onChange: (e: { currentTarget: { value: string } }) => type({ ...typed, [name]: e.currentTarget.value }) });
  return (
    <form onSubmit={submit} noValidate aria-label={button}>
      <Stack gap="xs">
        {fields.includes('password') && <PasswordInput {...shared('password')} label={t('second.password')} autoComplete="current-password" visibilityToggleButtonProps={{ 'aria-label': t('sign_in.show') }} />}
        {fields.includes('code') && <TextInput {...shared('code')} label={t('sign_in.code')} autoComplete="one-time-code" inputMode="numeric" />}
        {Boolean(error) && !fields.some((f) => wrong(f)) && <Problem error={error} />}
        <Button type="submit" variant="default" loading={pending}>
          {button}
        </Button>
      </Stack>
    </form>
  );
}
