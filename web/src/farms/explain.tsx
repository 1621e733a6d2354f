import { Button, Card, Code, Collapse, Group, List, NativeSelect, SimpleGrid, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import type { components } from '../api/schema';
import { Boundary } from '../ui/boundary';
import { lazyComponent } from '../ui/lazy-component';
import { Problem } from '../ui/problem';

/** The table of candidates is loaded with the first result, because the dashboard does not need it before. */
const Candidates = lazyComponent(async () => (await import('./candidates')).Candidates);

type Explained = components['schemas']['Explanation'];
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
      {ask.data && <Said of={ask.data.params} />}
    </Card>
  );
}

/** Said shows an explanation. */
export function Said({ of: { result, steps, services, ...of } }: { of: Explained }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs" mt="md" role="status">
      <Text fw={650} className="text">
        {result.outcome}
        {result.service ? ` → ${result.service}` : ''}
        {result.address ? ` → ${result.address}` : ''}
        {result.status ? ` (${result.status})` : ''}
      </Text>
      <Text size="sm" className="text">
        {result.reason}
      </Text>
      <List size="sm" spacing={2}>
        {[...(steps ?? []), ...(services ?? [])].map((s, i) => (
          <List.Item key={i}>
            <b>{s.name}</b>
            {s.reason && `: ${s.reason}`}
          </List.Item>
        ))}
        {!!of.services_not_tried && <List.Item>{t('explain.not_tried', { count: of.services_not_tried })}</List.Item>}
        {of.persistence && (
          <List.Item className="text">
            <b>{t('explain.session', { kind: of.persistence.kind })}</b>: {of.persistence.reason}
          </List.Item>
        )}
        {of.cookie && (
          <List.Item className="text">
            <b>{t('explain.cookie', { name: of.cookie.name })}</b>: {of.cookie.reason}
          </List.Item>
        )}
      </List>
      {of.balance && (
        <Boundary>
          <Candidates of={of.balance} />
        </Boundary>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Changed title={t('explain.request')} changes={of.changes} head={of.head} />
        <Changed title={t('explain.answer')} changes={of.answer_changes} head={of.answer_head} />
      </SimpleGrid>
    </Stack>
  );
}

/** Changed shows the changes of rules to a head, and the resulting head. */
function Changed({ title, changes, head }: { title: string; changes?: Explained['changes']; head?: string[] | null }) {
  const { t } = useTranslation();
  if (!head) return null;
  return (
    <section aria-label={title}>
      <Text fw={600} size="sm">
        {title}
      </Text>
      <Code block tabIndex={0} className="text">
        {head.join('\n')}
      </Code>
      <List size="sm" spacing={2} mt={4}>
        {changes?.map((c, i) => (
          <List.Item key={i} className="text">
            {t(`explain.${c.kind.replace('-', '_')}`, { owner: t(`explain.${c.owner}`), name: c.header, before: c.before, after: c.after })}
          </List.Item>
        ))}
        {!changes?.length && <List.Item>{t('explain.unchanged')}</List.Item>}
      </List>
    </section>
  );
}
