import { Badge, Group, Stack, Text } from '@mantine/core';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { FarmLink } from '../ui/farm-link';
import type { Entry } from '../api/types';
import { darkOrange } from '../ui/theme';
import { when } from '../ui/time';
import { namedFarms, partOf } from './place';

const colours = { info: 'gray.8', warning: darkOrange, error: 'red.9' } as const;

/** Entries shows entries of the timeline in the given order. */
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
            <Farms of={e} />
            {partOf(e) && (
              <Text span size="sm" fw={600} className="text">
                {partOf(e)}{' '}
              </Text>
            )}
            <Text span size="sm" className="text">
              {e.text}
            </Text>
            {causes &&
              e.before?.map((b, j) => (
                <Text key={j} size="xs" c="dimmed" className="text">
                  {t('timeline.before', { count: b.seconds ?? 0 })}: {[b.farm, partOf(b), b.text].filter(Boolean).join(' ')}
                </Text>
              ))}
          </div>
        </Group>
      ))}
    </Stack>
  );
}

/** Farms links to the first farms of an entry, with the number of others. */
function Farms({ of }: { of: Entry }) {
  const { t } = useTranslation();
  const { named, more } = namedFarms(of);
  return (
    <>
      {named.map((farm) => (
        <Fragment key={farm}>
          <FarmLink farm={farm} />{' '}
        </Fragment>
      ))}
      {more > 0 && (
        <Text span size="sm" c="dimmed">
          {t('timeline.more_farms', { number: more })}{' '}
        </Text>
      )}
    </>
  );
}
