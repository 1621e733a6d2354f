import { Card, SimpleGrid, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { components } from '../api/schema';
import { count } from '../ui/numbers';

type Counters = components['schemas']['DNSCounters'];

/** Counters that are always shown; the others are shown if they are not zero. */
const always = ['queries', 'noerror', 'nxdomain', 'servfail', 'refused_names', 'service_answers'] as const;
const sometimes = ['tcp_queries', 'truncated', 'formerr', 'no_messages', 'limited', 'slipped', 'transfers'] as const;

/** Questions shows the counters of queries and answers of a gslb farm since its start. */
export function Questions({ of }: { of: Counters }) {
  const { t } = useTranslation();
  const shown = [...always, ...sometimes.filter((name) => of[name] > 0)];
  return (
    <Card withBorder component="section" aria-labelledby="questions">
      <Title order={2} size="h4" id="questions" mb="xs">
        {t('questions.title')}
      </Title>
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} component="dl" m={0}>
        {shown.map((name) => (
          <div key={name}>
            <Text component="dt" size="sm" c="dimmed">
              {t(`questions.${name}`)}
            </Text>
            <Text component="dd" m={0} fw={600} size="lg">
              {count(of[name])}
            </Text>
          </div>
        ))}
      </SimpleGrid>
    </Card>
  );
}
