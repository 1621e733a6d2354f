import { Alert, Button, Group, PasswordInput, SegmentedControl, Stack, Switch, TextInput } from '@mantine/core';
import { useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { body, Refused, request, type Answer } from '../api/client';
import { upload, uploaded, type Uploaded } from '../api/files';
import { queries } from '../api/queries';
import { Diff } from '../change/diff';
import { Force } from '../change/dialog';
import { offerBack } from '../change/undo';
import { useForgetting } from '../form/draft';
import { done } from '../ui/notify';
import { Problem } from '../ui/problem';
import { undoReplacement } from './actions';
import { asPEM, base64, isPKCS12 } from './containers';
import { OneFile, Parts, Pasted } from './upload-ways';
import { Modal } from '../ui/dialog';

const ways = ['file', 'paste', 'parts'] as const;
type Way = (typeof ways)[number];
type Query = Record<string, string>;

/** The effect of a replacement on the names that services match, and the certificate that it replaces. */
type Renamed = { diff?: string; warnings?: string[] | null; needs_force?: 'true'; instead?: Query };

/** The content type of PEM. */
export const pemType = 'application/x-pem-file';

/**
 * UploadCertificate takes a certificate with its chain and key: as a file, as text, or in parts. With a name it
 * replaces that certificate.
 */
export function UploadCertificate({ name: replaced, close }: { name?: string; close: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [way, setWay] = useState<Way>('file');
  const [name, setName] = useState(replaced ?? '');
  const [files, setFiles] = useState<File[]>([]);
  const [password, setPassword] = useState('');
  const [pasted, paste] = useState('');
  const [parts, setParts] = useState({ ca: '', key: '', intermediates: '' });
  useForgetting(() => {
    setPassword('');
    paste('');
    setParts((typed) => ({ ...typed, key: '' }));
  });
  const [replace, setReplace] = useState(false);
  const [warning, warn] = useState('');
  const [renamed, setRenamed] = useState<Renamed>();
  const [force, setForce] = useState(false);
  /** Uploads a replacement: first as a dry run, unless its names were shown and confirmed. */
  const confirmed = async (call: (query: Query) => Promise<Answer<unknown>>): Promise<Uploaded | undefined> => {
    if ((replaced || replace) && !force) {
      const instead = await seen(client, named(replaced ?? name));
      const { params } = (await body(call({ ...instead, dry_run: 'true' }))) as { params: Renamed };
      if (params.needs_force) {
        setRenamed({ ...params, instead });
        return undefined;
      }
      return uploaded(call(instead));
    }
    return uploaded(call({ ...renamed?.instead, ...(force && { force: 'true' }) }));
  };
  /** Hides the names shown before, which no longer apply. */
  const forget = () => {
    setRenamed(undefined);
    setForce(false);
  };
  /** Called when the input changes. */
  const anew = () => {
    forget();
    send.reset();
  };
  const send = useMutation({
    mutationFn: async (): Promise<Uploaded | undefined> => {
      if (way === 'parts') return (await body(request('POST', ['certificates', 'pem'], { name: name.trim(), ...filled(parts) }))) as Uploaded;
      const contents = way === 'file' ? await Promise.all(files.map(async (f) => new Uint8Array(await f.arrayBuffer()))) : [];
      const [first] = contents;
      if (contents.length === 1 && isPKCS12(first))
        return confirmed((query) => request('POST', ['certificates', 'pkcs12'], { name: named(replaced ?? name), password, pkcs12: base64(first), replace: replaced || replace ? 'true' : 'false' }, query));
      const pem = way === 'file' ? contents.map(asPEM).join('\n') : pasted;
      return confirmed((query) => (replaced ? upload('PUT', ['certificates', replaced], pem, pemType, query) : upload('POST', ['certificates', named(name)], pem, pemType, { ...query, ...(replace ? { replace: 'true' } : {}) })));
    },
    onError: (error) => {
      if (error instanceof Refused && error.status === 412) forget(); // somebody replaced the certificate meanwhile
    },
    onSuccess: (answer) => {
      if (!answer) return; // the lost names are now shown
      setRenamed(undefined);
      const message = answer.message ?? t('certificates.uploaded');
      const file = answer.params?.file;
      const again = () => void client.invalidateQueries();
      const made = answer.params;
      if (file && made?.previous) offerBack(`replaced ${file}`, message, () => undoReplacement(file, made), t('certificates.restored', { name: file }), again);
      else done(message);
      again();
      if (answer.warning) warn(answer.warning);
      else close();
    },
  });
  const choose = (chosen: File[]) => {
    setFiles(chosen);
    anew();
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
            <SegmentedControl fullWidth value={way} onChange={(v) => (setWay(v as Way), anew())} data={ways.filter((w) => !replaced || w !== 'parts').map((w) => ({ value: w, label: t(`certificates_way.${w}`) }))} />
          </div>
          {way === 'file' && <OneFile files={files} set={choose} />}
          {way === 'file' && files.some((f) => /\.(p12|pfx)$/i.test(f.name)) && (
            <PasswordInput label={t('certificates.password')} autoComplete="off" value={password} onChange={(e) => setPassword(e.currentTarget.value)} error={wrong === 'password' ? send.error?.message : undefined} />
          )}
          {way === 'paste' && <Pasted value={pasted} set={(text) => (paste(text), anew())} />}
          {way === 'parts' && <Parts values={parts} set={setParts} wrong={wrong ? { [wrong]: String(send.error?.message) } : {}} />}
          {!replaced && <TextInput label={t('certificates.name')} description={t('certificates.name_about')} required value={name} onChange={(e) => (setName(e.currentTarget.value), anew())} error={wrong === 'name' ? send.error?.message : undefined} />}
          {!replaced && way !== 'parts' && <Switch label={t('certificates.replace_same')} checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} />}
          {send.error && !shown && <Problem error={send.error} />}
          {renamed && <LostNames of={renamed} force={force} setForce={setForce} />}
          {warning && <Alert color="yellow">{warning}</Alert>}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(warning ? 'palette.close' : 'change.cancel')}
            </Button>
            <Button type="submit" disabled={empty || (!replaced && name.trim() === '') || (renamed !== undefined && !force)} loading={send.isPending}>
              {t('upload.send')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** LostNames shows which services lose or gain names by a replacement, and lets the user accept that. */
function LostNames({ of, force, setForce }: { of: Renamed; force: boolean; setForce: (on: boolean) => void }) {
  return (
    <>
      {of.diff && <Diff text={of.diff} />}
      {of.warnings?.map((w) => (
        <Alert key={w} color="yellow" role="alert" p="xs">
          {w}
        </Alert>
      ))}
      <Force on={force} set={setForce} />
    </>
  );
}

/** The query that names the certificate of a file as it is now, so that no other one is replaced. It is empty for users who may not see it. */
async function seen(client: QueryClient, file: string): Promise<Query> {
  const all = await client.fetchQuery({ ...queries.certificates, staleTime: 0 }).catch(() => undefined);
  const fingerprint = all?.params?.find((one) => one.file === file)?.fingerprint;
  return fingerprint ? { fingerprint } : {};
}

/** The name of a certificate with its extension. */
const named = (name: string) => (name.trim().endsWith('.pem') ? name.trim() : `${name.trim()}.pem`);

const filled = (parts: Record<string, string>) => Object.fromEntries(Object.entries(parts).filter(([, v]) => v.trim() !== ''));
