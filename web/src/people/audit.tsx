import { Badge, Button, Card, Group, Stack, Switch, Text, TextInput, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { when } from '../ui/time';
import { people, type AuditEntry } from './queries';

const base = '/api/v4.0';

/** AuditPage shows the audit log: writes and refusals, newest first. */
export function AuditPage() {
  const { t } = useTranslation();
  const audit = useInfiniteQuery(people.audit);
  const [wanted, want] = useState('');
  const [refused, onlyRefused] = useState(false);
  const entries = audit.data?.pages.flat();
  const shown = entries?.filter((e) => fits(e, wanted) && (!refused || e.status >= 400));
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {t('nav.audit')}
        </Title>
        <Button component="a" size="xs" variant="default" href={`${base}/audit/export`} download="audit.jsonl" disabled={audit.isError}>
          {t('audit.export')}
        </Button>
      </Group>
      <QueryView of={{ data: shown, error: audit.error, refetch: audit.refetch }}>
        {(rows) => (
          <>
            <Group align="end">
              <TextInput label={t('audit.find')} description={t('audit.find_about')} value={wanted} onChange={(e) => want(e.currentTarget.value)} flex="1 1 16rem" maw={420} />
              <Switch label={t('audit.refused')} checked={refused} onChange={(e) => onlyRefused(e.currentTarget.checked)} />
              <Text size="sm" c="dimmed" role="status">
                {t('audit.count', { count: rows.length })}
              </Text>
            </Group>
            <Card withBorder p={0}>
              <DataTable
                label={t('nav.audit')}
                rows={rows}
                id={(e) => String(e.number)}
                empty={t('audit.none')}
                minWidth={960}
                columns={[
                  { head: t('history.when'), cell: (e) => <span className="line">{when(e.time)}</span> },
                  { head: t('history.who'), cell: (e) => <Who of={e} /> },
                  { head: t('history.what'), cell: (e) => e.message },
                  { head: t('audit.call'), cell: (e) => <Text span className="code">{`${e.method} ${e.path.replace(base, '')}`}</Text> },
                  { head: t('audit.answer'), cell: (e) => <Status of={e.status} /> },
                  { head: t('history.number'), cell: (e) => e.revision, number: true },
                ]}
              />
            </Card>
            {audit.hasNextPage && (
              <Group justify="center">
                <Button variant="default" loading={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
                  {t('audit.older')}
                </Button>
              </Group>
            )}
          </>
        )}
      </QueryView>
    </Stack>
  );
}

const fits = (e: AuditEntry, wanted: string) => `${e.user} ${e.source} ${e.method} ${e.path} ${e.message} ${e.status}`.toLowerCase().includes(wanted.trim().toLowerCase());

function Who({ of }: { of: AuditEntry }) {
  const { t } = useTranslation();
  return (
    <>
      <span className="line">{of.user || t('audit.stranger')}</span>
      <Text size="xs" c="dimmed" className="line">
        {of.source}
      </Text>
    </>
  );
}

function Status({ of }: { of: number }) {
  return (
    <Badge color={of >= 400 ? 'red.9' : 'gray.8'} tt="none" size="sm">
      {of}
    </Badge>
  );
}
