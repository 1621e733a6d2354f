import { Button, Card, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { fileAt } from '../api/files';
import { useMay } from '../session/may';
import { machineTime } from '../ui/time';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { bytes } from '../ui/numbers';
import { Lines } from './lines';

/** Logs lists the log files of the appliance and follows one of them. */
export function Logs() {
  const { t } = useTranslation();
  const may = useMay();
  const logs = useQuery({ queryKey: ['logs'], queryFn: () => body(api.GET('/system/logs')), refetchInterval: 30_000 });
  const [shown, show] = useState<string>();
  if (!logs.data) return <QueryView of={logs}>{() => null}</QueryView>;
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
            { head: t('logs.written'), cell: (l) => machineTime(l.date) },
            { head: t('backups.size'), cell: (l) => bytes(l.size), number: true },
          ]}
          actions={(l) => (
            <>
              <Button size="compact-sm" variant="default" {...may.button('log.show')} onClick={() => show(l.file)} aria-label={`${t('logs.show')}: ${l.file}`}>
                {t('logs.show')}
              </Button>
              <Button component="a" href={fileAt('system', 'logs', l.file)} download={l.file} size="compact-sm" variant="default" {...may.button('log.download')} aria-label={`${t('upload.download')}: ${l.file}`}>
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
