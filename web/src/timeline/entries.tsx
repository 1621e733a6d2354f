import { Badge, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FarmLink } from '../ui/farm-link';
import type { Entry } from '../farms/types';
import { darkOrange } from '../theme';
import { when } from '../ui/time';

const colours = { info: 'gray.8', warning: darkOrange, error: 'red.9' } as const;

/** Entries of the timeline, in the order given. */
export function Entries({ of, causes = false }: { of: Entry[]; causes?: boolean }) {
  const { t } = useTranslation();
  return (
    <Stack gap={6}>
      {of.map((e, i) => (
        <Group key={`${e.time} ${i}`} gap="xs" align="baseline" className="entry">
          <Text size="xs" c="dimmed" miw={150} style={{ flexShrink: 0 }} component="time" dateTime={e.time}>
            {when(e.time)}
          </Text>
          <Badge size="sm" variant="filled" color={colours[e.severity] ?? 'gray.8'} miw={104} style={{ flexShrink: 0 }}>
            {t(`kind.${e.kind}`, { defaultValue: e.kind })}
          </Badge>
          <div>
            {e.farm && (
              <>
                <FarmLink farm={e.farm} />{' '}
              </>
            )}
            <Text span size="sm" className="text">
              {e.text}
            </Text>
            {causes &&
              e.before?.map((b, j) => (
                <Text key={j} size="xs" c="dimmed" className="text">
                  {t('timeline.before', { count: b.seconds ?? 0 })}: {b.text}
                </Text>
              ))}
          </div>
        </Group>
      ))}
    </Stack>
  );
}
