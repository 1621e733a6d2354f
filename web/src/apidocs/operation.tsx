import { Anchor, Card, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { openapi } from '../form/body';
import { QueryView } from '../ui/query-view';
import { Back } from '../ui/back';
import { NotFound } from '../ui/not-found';
import { TitledPage } from '../ui/titled-page';
import { OneTimeText } from '../ui/one-time-text';
import { Wide } from '../ui/wide';
import { Method } from './list';
import { answers, bodies, curl, operations, parameters, type Doc, type Line } from './model';

/** OperationPage documents one operation: its parameters, its responses, and an example call. */
export function OperationPage() {
  const { t } = useTranslation();
  const { operation: id } = useParams({ strict: false }) as { operation: string };
  const document = useQuery(openapi);
  const doc = document.data as unknown as Doc | undefined;
  const op = useMemo(() => doc && operations(doc).find((o) => o.id === id), [doc, id]);
  if (!doc || !op) {
    return (
      <TitledPage title={id}>
        <QueryView of={document}>{() => (
          <NotFound text={t('apidocs.gone', { name: id })}>
            <Back to="/apidocs">{t('nav.apidocs')}</Back>
          </NotFound>
        )}</QueryView>
      </TitledPage>
    );
  }
  const taken = parameters(doc, op.call);
  return (
    <Stack>
      <div>
        <Anchor size="sm" renderRoot={(props) => <Link to="/apidocs" {...props} />}>
          ← {t('nav.apidocs')}
        </Anchor>
        <Title order={1} size="h2" mt={4}>
          {op.summary}
        </Title>
        <Group gap="xs" mt="xs">
          <Method of={op.method} />
          <Text ff="monospace" className="text">
            {op.path}
          </Text>
        </Group>
        <Text mt="xs" className="text">
          {op.description}
        </Text>
      </div>
      <Card withBorder>
        <OneTimeText label={t('apidocs.curl')} text={curl(op, location.origin)} />
      </Card>
      {taken.length > 0 && (
        <Card withBorder component="section" aria-label={t('apidocs.parameters')}>
          <Title order={2} size="h4" mb="xs">
            {t('apidocs.parameters')}
          </Title>
          <Lines of={taken.map((p) => ({ ...p, name: p.in === 'path' ? `{${p.name}}` : p.in === 'query' ? `?${p.name}` : p.name }))} label={t('apidocs.parameters')} />
        </Card>
      )}
      {bodies(doc, op.call).map((b, i) => (
        <Card key={i} withBorder component="section" aria-label={`${t('apidocs.body')} ${i + 1}`}>
          <Title order={2} size="h4" mb="xs">
            {t('apidocs.body')} <Text span ff="monospace" size="sm" c="dimmed">{b.kind}</Text>
          </Title>
          {b.lines.length > 0 ? <Lines of={b.lines} label={`${t('apidocs.body')} ${i + 1}`} /> : <Text size="sm">{t('apidocs.raw')}</Text>}
        </Card>
      ))}
      <Card withBorder component="section" aria-label={t('apidocs.answers')}>
        <Title order={2} size="h4" mb="xs">
          {t('apidocs.answers')}
        </Title>
        <Stack>
          {answers(doc, op.call).map((a) => (
            <div key={a.status}>
              <Text size="sm">
                <b>{a.status}</b> {a.description}
              </Text>
              {a.lines.length > 0 && <Lines of={a.lines} label={`${t('apidocs.answers')} ${a.status}`} answered />}
            </div>
          ))}
        </Stack>
      </Card>
    </Stack>
  );
}

/** Lines shows fields with their types, ranges, defaults and descriptions. */
function Lines({ of, label, answered }: { of: Line[]; label: string; answered?: boolean }) {
  const { t } = useTranslation();
  const heads = ['apidocs.name', 'apidocs.type', 'apidocs.range', ...(answered ? [] : ['apidocs.default']), 'apidocs.meaning'];
  return (
    <Wide label={label} minWidth={760}>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            {heads.map((h) => (
              <Table.Th key={h}>{t(h)}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {of.map((l) => (
            <Table.Tr key={l.name}>
              <Table.Td className="code">
                {l.name}
                {l.required && !answered && (
                  <Text span size="xs" c="dimmed">
                    {' '}
                    {t('apidocs.required')}
                  </Text>
                )}
              </Table.Td>
              <Table.Td className="code">{l.type}</Table.Td>
              <Table.Td className="code text">{l.range}</Table.Td>
              {!answered && <Table.Td className="code">{l.default}</Table.Td>}
              <Table.Td className="text">{l.description}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
