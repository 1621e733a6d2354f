import { Button, Card, Group, Loader, SegmentedControl, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { Problem } from '../ui/problem';
import { Entries } from './entries';

/** The maximum age of entries, and the number that each click adds. */
const spans = ['1h', '24h', '7d', '90d'];
const page = 200;
/** The maximum number of entries that the appliance returns. */
const most = 10_000;

/** TimelinePage shows all events in one list, newest first. */
export function TimelinePage() {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [severity, setSeverity] = useState<string | null>(null);
  const [since, setSince] = useState('24h');
  const [limit, setLimit] = useState(page);
  const timeline = useQuery({ ...queries.timeline({ since, severity: severity ?? undefined, limit }), placeholderData: keepPreviousData });
  const wanted = text.trim().toLowerCase();
  const all = timeline.data?.params ?? [];
  const total = timeline.data?.total ?? all.length;
  const entries = all.filter((e) => `${e.farm} ${e.service} ${e.backend} ${e.kind} ${e.text}`.toLowerCase().includes(wanted));
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.timeline')}
      </Title>
      <Group>
        <TextInput aria-label={t('farms.search')} placeholder={t('farms.search')} value={text} onChange={(e) => setText(e.currentTarget.value)} />
        <Select
          aria-label={t('timeline.severity')}
          placeholder={t('timeline.severity')}
          clearable
          data={['info', 'warning', 'error'].map((s) => ({ value: s, label: t(`severity.${s}`) }))}
          value={severity}
          onChange={(s) => (setSeverity(s), setLimit(page))}
        />
        <SegmentedControl size="xs" value={since} onChange={(s) => (setSince(s), setLimit(page))} data={spans.map((s) => ({ value: s, label: t(`range.${s}`) }))} aria-label={t('timeline.last')} />
        <Text size="sm" c="dimmed" role="status">
          {timeline.isSuccess ? t('timeline.shown', { shown: all.length, total }) : ''}
        </Text>
      </Group>
      {timeline.error && <Problem error={timeline.error} again={() => void timeline.refetch()} />}
      <Card withBorder>
        {timeline.isPending && <Loader size="sm" aria-label="…" />}
        {timeline.isSuccess && entries.length === 0 && <Text c="dimmed">{t(wanted || severity ? 'timeline.no_match' : 'timeline.empty')}</Text>}
        <Entries of={entries} causes />
        {all.length < Math.min(total, most) && (
          <Group justify="center" mt="sm">
            <Button variant="default" loading={timeline.isFetching && timeline.isPlaceholderData} onClick={() => setLimit(Math.min(limit + page, most))}>
              {t('timeline.older')}
            </Button>
          </Group>
        )}
      </Card>
    </Stack>
  );
}
