import { Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Days } from './days';
import { months } from './expiry';
import type { Certificate } from './types';

/** The number of months shown; later expiries are not urgent. */
const most = 12;

/** Calendar shows the expiry of certificates by month. */
export function Calendar({ all, look }: { all: Certificate[]; look: (file: string) => void }) {
  const { t, i18n } = useTranslation();
  const found = months(all);
  const name = (month: string) => new Intl.DateTimeFormat(i18n.language, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(`${month}-01T00:00:00Z`));
  const day = (time: string) => new Intl.DateTimeFormat(i18n.language, { day: 'numeric', month: 'short' }).format(new Date(time));
  return (
    <Card withBorder component="section" aria-labelledby="calendar">
      <Title order={2} size="h4" id="calendar" mb="xs">
        {t('certificates.calendar')}
      </Title>
      <Stack gap="sm">
        {found.slice(0, most).map(({ month, ends }) => (
          <div key={month}>
            <Title order={3} size="h6">
              {name(month)}
            </Title>
            {ends.map((c) => (
              <Group key={c.file} justify="space-between" gap="xs" wrap="nowrap">
                <Button variant="subtle" size="compact-sm" className="shrink" onClick={() => look(c.file)}>
                  {c.file}
                </Button>
                <Group gap="xs" wrap="nowrap">
                  <Text size="xs" c="dimmed" className="nowrap">
                    {day(String(c.expiration))}
                  </Text>
                  <Days left={c.days_left ?? 0} />
                </Group>
              </Group>
            ))}
          </div>
        ))}
        {found.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('certificates.none')}
          </Text>
        )}
      </Stack>
    </Card>
  );
}
