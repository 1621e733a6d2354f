import { Button, Card, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { body, Refused, request } from '../api/client';
import { queries } from '../api/queries';
import { OneTimeText } from '../ui/one-time-text';
import { duration } from '../ui/numbers';
import { Problem } from '../ui/problem';
import { State } from '../ui/state';
import type { Tried } from './types';
import { Modal } from '../ui/dialog';

/** TryIt runs a check once against a server and shows the result. It changes nothing. */
export function TryIt({ check, close }: { check: string; close: () => void }) {
  const { t } = useTranslation();
  const command = useQuery(queries.checks).data?.params?.find((c) => c.name === check)?.command;
  const [host, setHost] = useState('');
  const [port, setPort] = useState('');
  const run = useMutation({
    mutationFn: async () => {
      const sent = { host: host.trim(), ...(port.trim() ? { port: /^\d+$/.test(port.trim()) ? Number(port) : port } : {}) };
      return ((await body(request('POST', ['monitoring', 'fg', check, 'run'], sent))) as { params: Tried }).params;
    },
  });
  const wrong = (name: string) => (run.error instanceof Refused && run.error.field === name ? run.error.message : undefined);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    run.mutate();
  };
  return (
    <Modal opened onClose={close} size="lg" title={t('checks.try_title', { name: check })} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm" c="dimmed">
            {t('checks.try_about')}
          </Text>
          {command && <Code block>{String(command)}</Code>}
          <Group align="start" grow preventGrowOverflow={false}>
            <TextInput data-autofocus label={t('checks.host')} required placeholder="10.0.0.11" value={host} onChange={(e) => setHost(e.currentTarget.value)} error={wrong('host')} />
            <TextInput label={t('checks.port')} inputMode="numeric" placeholder="8080" value={port} onChange={(e) => setPort(e.currentTarget.value)} error={wrong('port')} />
          </Group>
          <Group justify="flex-end">
            <Button type="submit" loading={run.isPending}>
              {t('checks.run')}
            </Button>
          </Group>
          {run.error && !wrong('host') && !wrong('port') && <Problem error={run.error} />}
          {run.data && <Result of={run.data} />}
        </Stack>
      </form>
    </Modal>
  );
}

function Result({ of }: { of: Tried }) {
  const { t } = useTranslation();
  const healthy = of.healthy === 'true';
  return (
    <Card withBorder role="status">
      <Stack gap="xs">
        <Group gap="xs">
          <State of={healthy ? 'up' : 'down'} text={false} />
          <Text fw={600}>{t(healthy ? 'checks.healthy' : 'checks.unhealthy', { host: of.host })}</Text>
        </Group>
        {of.reason && <Text size="sm">{of.reason}</Text>}
        <Text size="sm">{t('checks.took', { time: duration(of.took / 1000) })}</Text>
        <OneTimeText label={t('checks.conversation')} text={of.conversation.join('\n') || '–'} />
      </Stack>
    </Card>
  );
}
