import { Alert, Button, Group, PasswordInput, SegmentedControl, Stack, Switch, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { body, Refused, request } from '../api/client';
import { upload, uploaded, type Uploaded } from '../api/files';
import { done } from '../ui/notify';
import { Problem } from '../ui/problem';
import { asPEM, base64, isPKCS12 } from './containers';
import { OneFile, Parts, Pasted } from './upload-ways';
import { Modal } from '../ui/dialog';

const ways = ['file', 'paste', 'parts'] as const;
type Way = (typeof ways)[number];

/** The content type of PEM. */
export const pemType = 'application/x-pem-file';

/** UploadCertificate takes a certificate with its chain and key: a file, text, or each part for itself. With a name it replaces that one. */
export function UploadCertificate({ name: replaced, close }: { name?: string; close: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [way, setWay] = useState<Way>('file');
  const [name, setName] = useState(replaced ?? '');
  const [files, setFiles] = useState<File[]>([]);
  const [password, setPassword] = useState('');
  const [pasted, paste] = useState('');
  const [parts, setParts] = useState({ ca: '', key: '', intermediates: '' });
  const [replace, setReplace] = useState(false);
  const [warning, warn] = useState('');
  const send = useMutation({
    mutationFn: async (): Promise<Uploaded> => {
      if (way === 'parts') return (await body(request('POST', ['certificates', 'pem'], { name: name.trim(), ...filled(parts) }))) as Uploaded;
      const contents = way === 'file' ? await Promise.all(files.map(async (f) => new Uint8Array(await f.arrayBuffer()))) : [];
      const [first] = contents;
      if (contents.length === 1 && isPKCS12(first))
        return (await body(request('POST', ['certificates', 'pkcs12'], { name: named(replaced ?? name), password, pkcs12: base64(first), replace: replaced || replace ? 'true' : 'false' }))) as Uploaded;
      const pem = way === 'file' ? contents.map(asPEM).join('\n') : pasted;
      return uploaded(replaced ? upload('PUT', ['certificates', replaced], pem, pemType) : upload('POST', ['certificates', named(name)], pem, pemType, replace ? { replace: 'true' } : {}));
    },
    onSuccess: (answer) => {
      done(answer.message ?? t('certificates.uploaded'));
      void client.invalidateQueries();
      if (answer.warning) warn(answer.warning);
      else close();
    },
  });
  const choose = (chosen: File[]) => {
    setFiles(chosen);
    if (!name && chosen[0]) setName(chosen[0].name.replace(/\.[^.]+$/, '').replace(/[^\w.-]+/g, '-'));
  };
  const empty = { file: files.length === 0, paste: pasted.trim() === '', parts: parts.ca.trim() === '' }[way];
  const submit = (e: FormEvent) => {
    e.preventDefault();
    send.mutate();
  };
  const wrong = send.error instanceof Refused ? send.error.field : undefined;
  const shown = (wrong === 'name' && !replaced) || (way === 'file' && wrong === 'password') || (way === 'parts' && wrong !== undefined && wrong in parts);
  return (
    <Modal opened onClose={close} size="lg" title={replaced ? t('certificates.replace_of', { name: replaced }) : t('certificates.upload')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <div role="group" aria-label={t('certificates.way')}>
            <SegmentedControl fullWidth value={way} onChange={(v) => (setWay(v as Way), send.reset())} data={ways.filter((w) => !replaced || w !== 'parts').map((w) => ({ value: w, label: t(`certificates_way.${w}`) }))} />
          </div>
          {way === 'file' && <OneFile files={files} set={choose} />}
          {way === 'file' && files.some((f) => /\.(p12|pfx)$/i.test(f.name)) && (
            <PasswordInput label={t('certificates.password')} autoComplete="off" value={password} onChange={(e) => setPassword(e.currentTarget.value)} error={wrong === 'password' ? send.error?.message : undefined} />
          )}
          {way === 'paste' && <Pasted value={pasted} set={paste} />}
          {way === 'parts' && <Parts values={parts} set={setParts} wrong={wrong ? { [wrong]: String(send.error?.message) } : {}} />}
          {!replaced && <TextInput label={t('certificates.name')} description={t('certificates.name_about')} required value={name} onChange={(e) => setName(e.currentTarget.value)} error={wrong === 'name' ? send.error?.message : undefined} />}
          {!replaced && way !== 'parts' && <Switch label={t('certificates.replace_same')} checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} />}
          {send.error && !shown && <Problem error={send.error} />}
          {warning && <Alert color="yellow">{warning}</Alert>}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(warning ? 'palette.close' : 'change.cancel')}
            </Button>
            <Button type="submit" disabled={empty || (!replaced && name.trim() === '')} loading={send.isPending}>
              {t('upload.send')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** A certificate is named with its ending. */
const named = (name: string) => (name.trim().endsWith('.pem') ? name.trim() : `${name.trim()}.pem`);

const filled = (parts: Record<string, string>) => Object.fromEntries(Object.entries(parts).filter(([, v]) => v.trim() !== ''));
