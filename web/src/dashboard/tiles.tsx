import { Box, Button, Card, Group, SimpleGrid, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { FarmNumbers } from '../api/types';
import { useFarmState } from '../farms/use-state';
import { endpoint } from '../ui/address';
import { byUrgency, State } from '../ui/state';
import classes from './tiles.module.css';

/** With more farms than this, only those that are not up are shown; the list has all. */
const most = 96;

/** FarmTiles shows every farm at a glance; those that are not up come first. */
export function FarmTiles({ farms }: { farms: FarmNumbers[] | undefined }) {
  const { t } = useTranslation();
  const stateOf = useFarmState();
  if (!farms) return null;
  const sorted = [...farms].sort((a, b) => byUrgency(stateOf(a), stateOf(b)) || a.farmname.localeCompare(b.farmname));
  const shown = sorted.length > most ? sorted.filter((f) => f.status !== 'up').slice(0, most) : sorted;
  return (
    <Card withBorder component="section" aria-labelledby="tiles">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="tiles">
          {t('nav.farms')}
        </Title>
        {shown.length < sorted.length && (
          <Button component={Link} to="/farms" variant="default" size="xs">
            {t('tiles.others', { count: sorted.length - shown.length })}
          </Button>
        )}
      </Group>
      {farms.length === 0 && <Text c="dimmed">{t('farms.empty')}</Text>}
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="xs">
        {shown.map((f) => (
          <Link key={f.farmname} to="/farms/$farm" params={{ farm: f.farmname }} className={classes.tile}>
            <Group justify="space-between" wrap="nowrap" gap={4}>
              <Text size="sm" fw={600} truncate>
                {f.farmname}
              </Text>
              <State of={stateOf(f)} text={false} />
            </Group>
            <Box component="span" className={classes.where}>
              {f.profile} {endpoint(f.vip, f.vport)}
            </Box>
          </Link>
        ))}
      </SimpleGrid>
    </Card>
  );
}
