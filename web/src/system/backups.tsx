import { Button, Card, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schema } from '../api/fields';
import { fileAt, list } from '../api/files';
import type { components } from '../api/schema';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { pick, withTitles } from '../form/with-titles';
import { useMay } from '../session/may';
import { machineTime } from '../ui/time';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { bytes } from '../ui/numbers';
import { applyBackup, createBackup, removeBackup } from './actions';
import { UploadBackup } from './upload-backup';

type Backup = components['schemas']['BackupItem'];

/** Backups lists the archives, with restoration. */
export function Backups() {
  const { t } = useTranslation();
  const may = useMay();
  const backups = useQuery({ queryKey: ['backups'], queryFn: () => list<Backup>('system', 'backup'), refetchInterval: 15_000 });
  const [creating, create] = useState(false);
  const [uploading, upload] = useState(false);
  const [applied, apply] = useState<string>();
  const [change, setChange] = useState<Change>();
  if (!backups.data) return <QueryView of={backups}>{() => null}</QueryView>;
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={560}>
          {t('backups.about')}
        </Text>
        <Group gap="xs">
          <Button variant="default" {...may.button('backup.upload')} onClick={() => upload(true)}>
            {t('backups.upload')}
          </Button>
          <Button {...may.button('backup.create')} onClick={() => create(true)}>
            {t('backups.create')}
          </Button>
        </Group>
      </Group>
      <Card withBorder p={0} component="section" aria-label={t('system_tab.backups')}>
        <DataTable
          label={t('system_tab.backups')}
          rows={backups.data}
          id={(b) => b.name}
          empty={t('backups.none')}
          minWidth={860}
          columns={[
            { head: t('backups.name'), cell: (b) => b.name },
            { head: t('backups.made'), cell: (b) => machineTime(b.date) },
            { head: t('backups.from'), cell: (b) => `${b.hostname}, ${b.version}` },
            { head: t('backups.size'), cell: (b) => bytes(b.size), number: true },
            { head: t('backups.protected'), cell: (b) => b.problem ?? t(b.encrypted === 'true' ? 'backups.encrypted' : 'backups.this_node') },
          ]}
          actions={(b) => (
            <>
              <Button component="a" href={fileAt('system', 'backup', b.name)} download={`${b.name}.tar.gz`} size="compact-sm" variant="default" {...may.button('backup.download')} aria-label={`${t('upload.download')}: ${b.name}`}>
                {t('upload.download')}
              </Button>
              <Button size="compact-sm" variant="default" {...may.button('backup.apply')} onClick={() => apply(b.name)} aria-label={t('backups.apply', { name: b.name })}>
                {t('backups.apply_short')}
              </Button>
              <Button size="compact-sm" variant="default" {...may.button('backup.delete')} onClick={() => setChange(removeBackup(b.name, t('backups.delete', { name: b.name })))} aria-label={t('backups.delete', { name: b.name })}>
                {t('form.delete')}
              </Button>
            </>
          )}
        />
      </Card>
      {creating && <NewBackup close={() => create(false)} />}
      {uploading && <UploadBackup close={() => upload(false)} />}
      {applied && <ApplyBackup name={applied} close={() => apply(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

function NewBackup({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const body = useBody('post', '/system/backup');
  const schema = useMemo(() => withTitles(pick(body, ['name', 'passphrase']), t), [body, t]);
  return <FormDrawer title={t('backups.create')} close={close} id="new backup" schema={schema} when="create" seen={{}} change={(sent) => createBackup(sent, t('backups.create_named', { name: String(sent.name ?? '') }))} />;
}

function ApplyBackup({ name, close }: { name: string; close: () => void }) {
  const { t } = useTranslation();
  const body = useBody('post', '/system/backup/{backup}/actions');
  const schema = useMemo(() => whole(withTitles(pick(body, ['system', 'force', 'passphrase']), t), t('backups.system_about')), [body, t]);
  return (
    <FormDrawer title={t('backups.apply', { name })} close={close} id={`apply ${name}`} schema={schema} when="create" verb={t('backups.apply_short')} seen={{}} change={(sent) => applyBackup(name, sent, t('backups.apply', { name }))}>
      <Text size="sm">{t('backups.apply_about')}</Text>
    </FormDrawer>
  );
}

/** The machine settings are restored by default. */
function whole(s: Schema | undefined, about: string): Schema | undefined {
  if (!s) return undefined;
  const { system, force, ...rest } = s.properties;
  return { ...s, properties: { system: { ...system, default: 'true', description: about }, force: { ...force, description: undefined }, ...rest } };
}
