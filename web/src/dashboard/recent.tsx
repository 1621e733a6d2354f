import { Anchor, Card, Group, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { QueryView } from '../ui/query-view';
import { Entries } from '../timeline/entries';

/** Recent shows the latest entries of the timeline. */
export function Recent() {
  const { t } = useTranslation();
  const timeline = useQuery(queries.timeline());
  const last = timeline.data?.params?.slice(0, 8) ?? [];
  return (
    <Card withBorder component="section" aria-labelledby="recent">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="recent">
          {t('recent.title')}
        </Title>
        <Anchor component={Link} to="/timeline" size="sm">
          {t('recent.all')}
        </Anchor>
      </Group>
      <QueryView of={timeline}>{() => (last.length === 0 ? <Text c="dimmed">{t('timeline.empty')}</Text> : <Entries of={last} />)}</QueryView>
    </Card>
  );
}
