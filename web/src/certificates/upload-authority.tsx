import { Button, Group, Stack, Switch, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { upload, uploaded } from '../api/files';
import { Drop } from '../ui/drop';
import { done } from '../ui/notify';
import { Problem } from '../ui/problem';
import { Modal } from '../ui/dialog';

/** The upload: an authority list, or the CRLs of one. */
export type Sent = { what: 'list' } | { what: 'crl'; name: string };

const pem = 'application/x-pem-file';

/** The content type of a CRL file: PEM is text, DER is binary. */
async function crlType(files: File[]): Promise<string> {
  const head = await files[0].slice(0, 11).text();
  return head.startsWith('-----BEGIN') ? pem : 'application/pkix-crl';
}

export function UploadAuthority({ of, close }: { of: Sent; close: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [files, setFiles] = useState<File[]>([]);
  const [name, setName] = useState('');
  const [replace, setReplace] = useState(false);
  const crl = of.what === 'crl';
  const send = useMutation({
    mutationFn: async () => {
      if (crl) return uploaded(upload('PUT', ['certificates', 'ca', of.name, 'crl'], new Blob(files), await crlType(files)));
      return uploaded(upload('POST', ['certificates', 'ca', name.trim()], new Blob(files), pem, replace ? { replace: 'true' } : {}));
    },
    onSuccess: (answer) => {
      done([answer.message, answer.warning].filter(Boolean).join(' '));
      void client.invalidateQueries();
      close();
    },
  });
  const choose = (chosen: File[]) => {
    setFiles(chosen);
    if (!name && chosen[0]) setName(chosen[0].name.replace(/\.[^.]+$/, '').replace(/[^\w.-]+/g, '-'));
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    send.mutate();
  };
  return (
    <Modal opened onClose={close} size="lg" title={crl ? t('authorities.crl_of', { name: of.name }) : t('authorities.upload')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Drop label={t(crl ? 'authorities.crl' : 'certificates.pem')} about={t(crl ? 'authorities.drop_crl' : 'authorities.drop')} files={files} set={choose} multiple={!crl} />
          {!crl && <TextInput label={t('certificates.name')} description={t('certificates.name_about')} required value={name} onChange={(e) => setName(e.currentTarget.value)} />}
          {!crl && <Switch label={t('certificates.replace_same')} checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} />}
          {send.error && <Problem error={send.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('change.cancel')}
            </Button>
            <Button type="submit" disabled={files.length === 0 || (!crl && name.trim() === '')} loading={send.isPending}>
              {t('upload.send')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
