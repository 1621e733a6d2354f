import { Card, Stack, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ReactNode } from 'react';
import { QueryView } from '../ui/query-view';
import { Alerts } from './alerts';
import { EventTable } from './event-table';
import { useWays } from './use-ways';
import { Ways } from './ways';

/** NotificationsPage configures the notifications of operators and their channels. */
export function NotificationsPage() {
  const { t } = useTranslation();
  const ways = useWays();
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.notifications')}
      </Title>
      <QueryView of={ways}>
        {(all) => (
          <>
            <Ways ways={all} />
            <Part id="alerts" title={t('notice.alerts')}>
              <Alerts />
            </Part>
            <Part id="told" title={t('notice.told')}>
              <EventTable ways={all} />
            </Part>
          </>
        )}
      </QueryView>
    </Stack>
  );
}

function Part({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <Card withBorder component="section" aria-labelledby={id}>
      <Title order={2} size="h4" id={id} mb="xs">
        {title}
      </Title>
      {children}
    </Card>
  );
}
