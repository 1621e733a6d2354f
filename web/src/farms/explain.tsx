import { Button, Card, Collapse, Group, NativeSelect, SimpleGrid, Textarea, TextInput, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { Problem } from '../ui/problem';
import { Explanation } from './explanation';

type Props = { farm: string; vport: string; secure: boolean; headers?: boolean; children?: ReactNode };

/** The nonblank lines of a text. */
const lines = (text: string) => text.split('\n').map((line) => line.trim()).filter(Boolean);

/**
 * Explain traces a request rule by rule without sending it, and shows how rules change the request and its response.
 */
export function Explain({ farm, vport, secure, headers = false, children }: Props) {
  const { t } = useTranslation();
  const [method, setMethod] = useState('GET');
  const [url, setURL] = useState(`${secure ? 'https' : 'http'}://www.example.org${vport === '80' || vport === '443' ? '' : `:${vport}`}/`);
  const [from, setFrom] = useState('');
  const [sent, setSent] = useState('');
  const [answered, setAnswered] = useState('Content-Type: text/html');
  const [more, { toggle }] = useDisclosure(headers);
  const ask = useMutation({
    mutationFn: () => {
      const fields = { method, url, ...(from.trim() ? { from: from.trim() } : {}), headers: lines(sent), answer: more ? lines(answered) : [] };
      return body(api.POST('/farms/{farm}/explain', { params: { path: { farm } }, body: fields }));
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    ask.mutate();
  };
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
          <TextInput label={t('explain.from')} placeholder="127.0.0.1" value={from} onChange={(e) => setFrom(e.currentTarget.value)} w={170} />
          <Button variant="default" aria-expanded={more} onClick={toggle}>
            {t('explain.headers')}
          </Button>
          <Button type="submit" loading={ask.isPending}>
            {t('explain.ask')}
          </Button>
        </Group>
        <Collapse expanded={more}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} mt="sm">
            <Textarea label={t('explain.sent')} description={t('explain.lines')} autosize minRows={2} classNames={{ input: 'code' }} value={sent} onChange={(e) => setSent(e.currentTarget.value)} />
            <Textarea label={t('explain.answered')} description={t('explain.lines')} autosize minRows={2} classNames={{ input: 'code' }} value={answered} onChange={(e) => setAnswered(e.currentTarget.value)} />
          </SimpleGrid>
        </Collapse>
      </form>
      {ask.error && <Problem error={ask.error} />}
      {ask.data && <Explanation of={ask.data.params} />}
    </Card>
  );
}
