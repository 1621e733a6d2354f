import { Card, Group, Loader, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { Problem } from '../ui/problem';
import { Entries } from './entries';

/** TimelinePage is everything that happened on one axis, the newest first. */
export function TimelinePage() {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [severity, setSeverity] = useState<string | null>(null);
  const timeline = useQuery(queries.timeline());
  const wanted = text.trim().toLowerCase();
  const entries = [...(timeline.data?.params ?? [])]
    .reverse()
    .filter((e) => (!severity || e.severity === severity) && `${e.farm} ${e.service} ${e.backend} ${e.kind} ${e.text}`.toLowerCase().includes(wanted));
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
          onChange={setSeverity}
        />
      </Group>
      {timeline.error && <Problem error={timeline.error} again={() => void timeline.refetch()} />}
      <Card withBorder>
        {timeline.isPending && <Loader size="sm" aria-label="…" />}
        {timeline.isSuccess && entries.length === 0 && <Text c="dimmed">{t(wanted || severity ? 'farms.no_match' : 'timeline.empty')}</Text>}
        <Entries of={entries} causes />
      </Card>
    </Stack>
  );
}
