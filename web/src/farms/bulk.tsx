import { Button, Card, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { write, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { Restarts } from './restarts';

/** The maximum number of writes of a transaction. */
const most = 256;

/** The actions that are one change of several farms. */
type BulkAction = 'start' | 'stop';

/** Bulk applies an action to several farms: as one change, or as one restart of each. */
export function Bulk({ farms, done }: { farms: string[]; done: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const [change, setChange] = useState<Change>();
  const [restarted, restart] = useState<string[]>(); // the list may lose farms while they restart
  const act = (verb: BulkAction) => setChange(all(farms, verb, t(`bulk.${verb}`, { count: farms.length })));
  return (
    <>
      {farms.length > 0 && (
        <Card withBorder p="xs">
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {t('bulk.chosen', { count: farms.length })}
            </Text>
            {farms.length > most && (
              <Text size="sm" role="status">
                {t('bulk.most', { most })}
              </Text>
            )}
            {(['start', 'stop', 'restart'] as const).map((verb) => (
              <Button key={verb} size="compact-sm" variant="default" {...may.button('farm.action', farms.length > most)} onClick={() => (verb === 'restart' ? restart(farms) : act(verb))}>
                {t(`farm.${verb}_short`)}
              </Button>
            ))}
          </Group>
        </Card>
      )}
      {restarted && <Restarts farms={restarted} close={() => restart(undefined)} done={done} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={done} />}
    </>
  );
}

function all(farms: string[], action: BulkAction, title: string): Change {
  const writes = farms.map((farm) => ({ method: 'PUT', path: `/farms/${encodeURIComponent(farm)}/actions`, body: { action } }));
  return write(title, farms.map((farm) => `sluice farm ${action} ${farm}`).join('\n'), 'POST', ['transactions'], { writes });
}
