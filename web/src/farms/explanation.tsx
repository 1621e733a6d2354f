import { Code, List, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { components } from '../api/schema';
import { Boundary } from '../ui/boundary';
import { lazyComponent } from '../ui/lazy-component';

/** The table of candidates is loaded with the first result, because the dashboard does not need it before. */
const Candidates = lazyComponent(async () => (await import('./candidates')).Candidates);

type Explained = components['schemas']['Explanation'];

/** Explanation shows how a request would be routed, and how rules change it. */
export function Explanation({ of: { result, steps, services, ...of } }: { of: Explained }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs" mt="md" role="status">
      <Text fw={650} className="text">
        {[t(`explain.outcome_${result.outcome}`), result.status && `(${result.status})`, result.service && t('explain.by_service', { service: result.service }), result.address && `→ ${result.address}`].filter(Boolean).join(' ')}
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
