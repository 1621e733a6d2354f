import { Card, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body, Refused } from '../api/client';
import { QueryView } from '../ui/query-view';

const numbers = ['50', '200', '1000'];
const classes = ['2xx', '3xx', '4xx', '5xx'];

/** Matches a status of a class, e.g. 5xx, in a line of an access log, in JSON or the combined format. */
const ofClass = (of: string) => new RegExp(`"status":${of[0]}\\d\\d\\b|" ${of[0]}\\d\\d `);

/** Lines shows the last lines of a log, newest first, and polls while it is watched. */
export function Lines({ of, exchanges, children }: { of: string; exchanges?: boolean; children?: ReactNode }) {
  const { t } = useTranslation();
  const [n, setN] = useState('200');
  const [watching, watch] = useState(true);
  const [wanted, want] = useState('');
  const [status, setStatus] = useState<string | null>(null);
  const lines = useQuery({
    queryKey: ['log', of, n],
    queryFn: () => body(api.GET('/system/logs/{log}/lines/{lines}', { params: { path: { log: of, lines: n } } })),
    refetchInterval: watching ? 2_000 : false,
  });
  const text = wanted.trim().toLowerCase();
  const found = (lines.data?.log ?? []).filter((l) => l.toLowerCase().includes(text) && (!status || ofClass(status).test(l)));
  const none = lines.error instanceof Refused && lines.error.status === 404;
  return (
    <Card withBorder component="section" aria-label={of}>
      <Stack gap="xs">
        <Group align="end">
          <Select size="xs" w={110} label={t('logs.lines')} data={numbers} value={n} onChange={(v) => setN(v ?? '200')} allowDeselect={false} />
          <TextInput size="xs" label={t('farms.search')} value={wanted} onChange={(e) => want(e.currentTarget.value)} />
          {exchanges && <Select size="xs" w={110} label={t('trace.status')} data={classes} value={status} onChange={setStatus} clearable clearButtonProps={{ 'aria-label': t('logs.any') }} />}
          <Switch label={t('logs.watch')} checked={watching} onChange={(e) => watch(e.currentTarget.checked)} />
          {children}
        </Group>
        {none ? (
          <Text c="dimmed">{t('logs.not_yet')}</Text>
        ) : (
          <QueryView of={lines}>
            {() => (
              <>
                <Text size="sm" c="dimmed" role="status">
                  {t('logs.count', { count: found.length })}
                </Text>
                <pre className="rows lines" tabIndex={0} role="log" aria-live="off" aria-label={of}>
                  {found.join('\n')}
                </pre>
              </>
            )}
          </QueryView>
        )}
      </Stack>
    </Card>
  );
}
