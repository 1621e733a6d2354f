import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { upload, uploaded } from '../api/files';
import { Drop } from '../ui/drop';
import { done } from '../ui/notify';
import { Problem } from '../ui/problem';
import { Modal } from '../ui/dialog';

/** UploadBackup adds an archive to the backups. It is checked but not restored. */
export function UploadBackup({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [files, setFiles] = useState<File[]>([]);
  const [name, setName] = useState('');
  const send = useMutation({
    mutationFn: () => uploaded(upload('PUT', ['system', 'backup', name.trim()], files[0], 'application/gzip')),
    onSuccess: (answer) => {
      done(answer.message ?? '');
      void client.invalidateQueries({ queryKey: ['backups'] });
      close();
    },
  });
  const choose = (chosen: File[]) => {
    setFiles(chosen);
    if (!name && chosen[0]) setName(chosen[0].name.replace(/\.(tar\.gz|tgz|gz)$/, '').replace(/[^\w-]+/g, '-'));
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    send.mutate();
  };
  return (
    <Modal opened onClose={close} size="lg" title={t('backups.upload')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Drop label={t('backups.archive')} about={t('backups.drop')} files={files} set={choose} accept=".gz,.tgz,application/gzip" />
          <TextInput label={t('backups.name')} required value={name} onChange={(e) => setName(e.currentTarget.value)} />
          {send.error && <Problem error={send.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('change.cancel')}
            </Button>
            <Button type="submit" disabled={files.length === 0 || name.trim() === ''} loading={send.isPending}>
              {t('upload.send')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
