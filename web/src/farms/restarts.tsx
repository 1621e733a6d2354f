import { Alert, Badge, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Equal } from '../change/dialog';
import { Modal } from '../ui/dialog';
import { problemText } from '../ui/problem';
import { action } from './actions';
import { oneByOne, type Outcome } from './restarts-run';

/** Restarts restarts several farms. A restart is not a change of the configuration, so a transaction cannot contain it: they are sent one after the other, and each has its own result. */
export function Restarts({ farms, close, done }: { farms: string[]; close: () => void; done: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [outcomes, setOutcomes] = useState<Outcome[]>([]);
  const [warnings, warn] = useState<string[]>([]);
  const [state, setState] = useState<'asked' | 'running' | 'ended'>('asked');
  const stopped = useRef(false);
  const changes = farms.map((farm) => action(farm, 'restart', farm));
  const start = () => {
    setState('running');
    const note = (i: number, outcome: Outcome, more: string[]) => {
      setOutcomes((before) => farms.map((_, n) => (n === i ? outcome : (before[n] ?? 'waiting'))));
      warn((before) => [...before, ...more]);
    };
    void oneByOne(changes, note, () => stopped.current)
      .finally(() => {
        setState('ended');
        void client.invalidateQueries();
      })
      .catch(() => undefined); // outcomes have the failures
  };
  const end = () => {
    stopped.current = true;
    if (state === 'running') return; // the result of the current one is shown
    close();
    if (state === 'ended') done();
  };
  const over = outcomes.filter((o) => o === 'done' || o instanceof Error).length;
  return (
    <Modal opened onClose={end} title={t('bulk.restart', { count: farms.length })} size="lg" closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <Stack>
        {state === 'asked' && (
          <Alert color="orange" p="xs">
            {t('bulk.interrupts')}
          </Alert>
        )}
        {state !== 'asked' && (
          <>
            <Text size="sm" role="status">
              {t('bulk.progress', { done: over, count: farms.length })}
            </Text>
            <Progress value={(100 * over) / farms.length} aria-label={t('bulk.restart', { count: farms.length })} />
          </>
        )}
        <Stack gap={4} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
          {farms.map((farm, i) => (
            <li key={farm}>
              <Result farm={farm} outcome={outcomes[i]} ended={state === 'ended'} />
            </li>
          ))}
        </Stack>
        {warnings.map((w) => (
          <Alert key={w} color="yellow" p="xs">
            {w}
          </Alert>
        ))}
        {state === 'asked' && <Equal label={t('change.command')} text={changes.map((c) => c.command).join('\n')} />}
        {state === 'asked' && <Equal label={t('change.call')} text={changes.map((c) => c.call).join('\n')} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={end}>
            {t(state === 'ended' ? 'palette.close' : state === 'running' ? 'bulk.halt' : 'change.cancel')}
          </Button>
          {state !== 'ended' && (
            <Button loading={state === 'running'} onClick={start}>
              {t('change.apply')}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

/** Result shows the outcome for one farm. */
function Result({ farm, outcome, ended }: { farm: string; outcome?: Outcome; ended: boolean }) {
  const { t } = useTranslation();
  if (outcome instanceof Error)
    return (
      <Alert color="red" role="alert" p="xs" title={farm}>
        {problemText(outcome, t)}
      </Alert>
    );
  const word = outcome === 'done' ? 'bulk.done' : outcome === 'running' ? 'bulk.running' : ended ? 'bulk.left' : undefined;
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">{farm}</Text>
      {word && (
        <Badge variant="light" color={outcome === 'done' ? 'green' : 'gray'}>
          {t(word)}
        </Badge>
      )}
    </Group>
  );
}
