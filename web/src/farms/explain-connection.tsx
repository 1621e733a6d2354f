import { Alert, Button, Card, Code, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { QueryView } from '../ui/query-view';
import { Problem } from '../ui/problem';
import { Explanation } from './explanation';

/**
 * ExplainConnection shows the data path of an l4xnat farm, and the backend that a client would get. For a farm in the
 * kernel, it shows the rules that select it.
 */
export function ExplainConnection({ farm }: { farm: string }) {
  const { t } = useTranslation();
  const carried = useQuery({ queryKey: ['farm', farm, 'carried'], queryFn: () => body(api.GET('/farms/{farm}/explain', { params: { path: { farm } } })) });
  return (
    <Card withBorder component="section" aria-labelledby="explain">
      <Title order={2} size="h4" id="explain" mb="xs">
        {t('explain.connection')}
      </Title>
      <QueryView of={carried}>
        {({ params: { carrier, reason, rules, warnings } }) => (
          <Stack gap="xs">
            <Text size="sm" className="text">
              {t(`explain.by_${carrier}`)}: {reason}
            </Text>
            {warnings?.map((w) => (
              <Alert key={w} color="yellow" p="xs">
                {w}
              </Alert>
            ))}
            {carrier === 'kernel' ? <Rules text={rules ?? ''} /> : <Question farm={farm} />}
          </Stack>
        )}
      </QueryView>
    </Card>
  );
}

/** Rules shows the kernel rules of a farm, because the kernel cannot be asked for its decision. */
function Rules({ text }: { text: string }) {
  const { t } = useTranslation();
  return (
    <section aria-label={t('explain.rules')}>
      <Text size="sm" c="dimmed">
        {t('explain.rules_about')}
      </Text>
      <Code block tabIndex={0} mah={320} style={{ overflow: 'auto' }}>
        {text}
      </Code>
    </section>
  );
}

/** Question is the form for the addresses of a connection or datagram. */
function Question({ farm }: { farm: string }) {
  const { t } = useTranslation();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [protocol, setProtocol] = useState('');
  const [sni, setSNI] = useState('');
  const ask = useMutation({
    mutationFn: () => {
      const fields = Object.fromEntries(Object.entries({ from, to, protocol, sni }).map(([name, v]) => [name, v.trim()]).filter(([, v]) => v !== ''));
      return body(api.POST('/farms/{farm}/explain', { params: { path: { farm } }, body: fields }));
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    ask.mutate();
  };
  return (
    <>
      <form onSubmit={submit}>
        <Group align="end">
          <TextInput label={t('explain.from')} placeholder="127.0.0.1" value={from} onChange={(e) => setFrom(e.currentTarget.value)} w={200} />
          <TextInput label={t('explain.to')} value={to} onChange={(e) => setTo(e.currentTarget.value)} w={200} />
          <NativeSelect label={t('explain.protocol')} data={[{ value: '', label: t('explain.any') }, 'tcp', 'udp']} value={protocol} onChange={(e) => setProtocol(e.currentTarget.value)} w={120} />
          <TextInput label={t('explain.sni')} value={sni} onChange={(e) => setSNI(e.currentTarget.value)} w={200} />
          <Button type="submit" loading={ask.isPending}>
            {t('explain.ask')}
          </Button>
        </Group>
      </form>
      {ask.error && <Problem error={ask.error} />}
      {ask.data && <Explanation of={ask.data.params} />}
    </>
  );
}
