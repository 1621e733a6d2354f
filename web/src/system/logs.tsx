import { Button, Card, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { fileAt } from '../api/files';
import { useMay } from '../session/may';
import { Asked } from '../ui/asked';
import { DataTable } from '../ui/data-table';
import { bytes } from '../ui/numbers';
import { Problem } from '../ui/problem';

/** Logs are the log files of the appliance; one of them can be watched. */
export function Logs() {
  const { t } = useTranslation();
  const may = useMay();
  const logs = useQuery({ queryKey: ['logs'], queryFn: () => body(api.GET('/system/logs')), refetchInterval: 30_000 });
  const [shown, show] = useState<string>();
  if (!logs.data) return <Asked of={logs}>{() => null}</Asked>;
  return (
    <Stack>
      <Card withBorder p={0} component="section" aria-label={t('system_tab.logs')}>
        <DataTable
          label={t('system_tab.logs')}
          rows={logs.data.params ?? []}
          id={(l) => l.file}
          empty={t('logs.none')}
          minWidth={520}
          columns={[
            { head: t('logs.file'), cell: (l) => l.file },
            { head: t('logs.written'), cell: (l) => l.date },
            { head: t('backups.size'), cell: (l) => bytes(l.size), number: true },
          ]}
          actions={(l) => (
            <>
              <Button size="compact-sm" variant="default" disabled={!may('log.show')} onClick={() => show(l.file)} aria-label={`${t('logs.show')}: ${l.file}`}>
                {t('logs.show')}
              </Button>
              <Button component="a" href={fileAt('system', 'logs', l.file)} download={l.file} size="compact-sm" variant="default" disabled={!may('log.download')} aria-label={`${t('upload.download')}: ${l.file}`}>
                {t('upload.download')}
              </Button>
            </>
          )}
        />
      </Card>
      {shown && <Lines key={shown} of={shown} />}
    </Stack>
  );
}

const numbers = ['50', '200', '1000'];

/** Lines are the last lines of a log, the newest first; asked anew as long as it is watched. */
function Lines({ of }: { of: string }) {
  const { t } = useTranslation();
  const [n, setN] = useState('200');
  const [watching, watch] = useState(true);
  const [wanted, want] = useState('');
  const lines = useQuery({
    queryKey: ['log', of, n],
    queryFn: () => body(api.GET('/system/logs/{log}/lines/{lines}', { params: { path: { log: of, lines: n } } })),
    refetchInterval: watching ? 2_000 : false,
  });
  const found = (lines.data?.log ?? []).filter((l) => l.toLowerCase().includes(wanted.trim().toLowerCase()));
  return (
    <Card withBorder component="section" aria-label={of}>
      <Stack gap="xs">
        <Group align="end">
          <Select size="xs" w={110} label={t('logs.lines')} data={numbers} value={n} onChange={(v) => setN(v ?? '200')} allowDeselect={false} />
          <TextInput size="xs" label={t('farms.search')} value={wanted} onChange={(e) => want(e.currentTarget.value)} />
          <Switch label={t('logs.watch')} checked={watching} onChange={(e) => watch(e.currentTarget.checked)} />
        </Group>
        <Text size="sm" c="dimmed" role="status">
          {t('logs.count', { count: found.length })}
        </Text>
        {lines.error && <Problem error={lines.error} />}
        <pre className="rows lines" tabIndex={0} role="log" aria-live="off" aria-label={of}>
          {found.join('\n')}
        </pre>
      </Stack>
    </Card>
  );
}
