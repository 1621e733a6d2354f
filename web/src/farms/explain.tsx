import { Button, Card, Group, List, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { Problem } from '../ui/problem';

/** Explain says which way a request would take, rule by rule, without sending one. */
export function Explain({ farm, vport, secure, children }: { farm: string; vport: string; secure: boolean; children?: ReactNode }) {
  const { t } = useTranslation();
  const [method, setMethod] = useState('GET');
  const [url, setURL] = useState(`${secure ? 'https' : 'http'}://www.example.org${vport === '80' || vport === '443' ? '' : `:${vport}`}/`);
  const ask = useMutation({
    mutationFn: () => body(api.POST('/farms/{farm}/explain', { params: { path: { farm } }, body: { method, url } })),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    ask.mutate();
  };
  const said = ask.data?.params;
  return (
    <Card withBorder component="section" aria-labelledby="explain">
      <Title order={2} size="h4" id="explain" mb="xs">
        {t('explain.title')}
      </Title>
      <form onSubmit={submit}>
        <Group align="end">
          {children}
          <NativeSelect label={t('explain.method')} data={['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']} value={method} onChange={(e) => setMethod(e.currentTarget.value)} w={110} />
          <TextInput label="URL" value={url} onChange={(e) => setURL(e.currentTarget.value)} required style={{ flex: '1 1 16rem' }} />
          <Button type="submit" loading={ask.isPending}>
            {t('explain.ask')}
          </Button>
        </Group>
      </form>
      {ask.error && <Problem error={ask.error} />}
      {said && (
        <Stack gap="xs" mt="md" role="status">
          <Text fw={650} className="text">
            {said.result?.outcome}
            {said.result?.service ? ` → ${said.result.service}` : ''}
            {said.result?.address ? ` → ${said.result.address}` : ''}
            {said.result?.status ? ` (${said.result.status})` : ''}
          </Text>
          <Text size="sm" className="text">
            {said.result?.reason}
          </Text>
          <List size="sm" spacing={2}>
            {said.steps?.map((s, i) => (
              <List.Item key={i}>
                <b>{s.name}</b>: {s.reason}
              </List.Item>
            ))}
            {said.services?.map((s, i) => (
              <List.Item key={`s${i}`}>
                <b>{s.name}</b>: {s.reason}
              </List.Item>
            ))}
          </List>
        </Stack>
      )}
    </Card>
  );
}
