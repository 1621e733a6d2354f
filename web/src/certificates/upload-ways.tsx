import { Stack, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Drop } from '../ui/drop';
import { failed } from '../ui/notify';

const accept = '.pem,.crt,.cer,.der,.key,.txt,.p12,.pfx,application/x-pem-file';

/** OneFile takes a certificate as one file, or as several files that belong together. */
export function OneFile({ files, set }: { files: File[]; set: (files: File[]) => void }) {
  const { t } = useTranslation();
  return <Drop label={t('certificates.pem')} about={t('certificates.drop')} files={files} set={set} accept={accept} multiple />;
}

/** Pasted takes a certificate as text. */
export function Pasted({ value, set }: { value: string; set: (text: string) => void }) {
  const { t } = useTranslation();
  return <PEM label={t('certificates.pem')} about={t('certificates.paste_about')} value={value} set={set} rows={10} />;
}

export type PartTexts = { ca: string; key: string; intermediates: string };

/** Parts takes the certificate, its key, and the intermediate certificates separately. */
export function Parts({ values, set, wrong }: { values: PartTexts; set: (values: PartTexts) => void; wrong: Record<string, string> }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs">
      <PEM label={t('certificates.part_ca')} value={values.ca} set={(ca) => set({ ...values, ca })} error={wrong.ca} />
      <PEM label={t('certificates.part_key')} about={t('certificates.part_key_about')} value={values.key} set={(key) => set({ ...values, key })} error={wrong.key} />
      <PEM label={t('certificates.part_between')} value={values.intermediates} set={(intermediates) => set({ ...values, intermediates })} error={wrong.intermediates} />
    </Stack>
  );
}

type PEMProps = { label: string; about?: string; value: string; set: (text: string) => void; rows?: number; error?: string };

/** PEM is a text field for PEM blocks that also accepts dropped files. */
function PEM({ label, about, value, set, rows = 4, error }: PEMProps) {
  return (
    <Textarea
      classNames={{ input: 'code' }}
      label={label}
      description={about}
      rows={rows}
      spellCheck={false}
      autoComplete="off"
      placeholder="-----BEGIN …-----"
      value={value}
      error={error}
      onChange={(e) => set(e.currentTarget.value)}
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        const [file] = e.dataTransfer.files;
        if (!file) return;
        e.preventDefault();
        void file.text().then(set, failed);
      }}
    />
  );
}
