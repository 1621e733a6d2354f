import { Button, Card, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { removeCertificate } from './actions';
import { Calendar } from './calendar';
import { NewRequest } from './csr';
import { Days } from './days';
import { Details } from './details';
import classes from './list.module.css';
import type { Certificate } from './types';
import { UploadCertificate } from './upload';

/** CertificateList shows every certificate and CSR with its expiry. */
export function CertificateList() {
  const { t } = useTranslation();
  const may = useMay();
  const certificates = useQuery(queries.certificates);
  const [looked, look] = useState<string>();
  const [uploading, upload] = useState(false);
  const [requesting, ask] = useState(false);
  const [change, setChange] = useState<Change>();
  const all = certificates.data?.params ?? [];
  if (!certificates.data) return <QueryView of={certificates}>{() => null}</QueryView>;
  return (
    <Stack>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" {...may.button('certificate.create')} onClick={() => ask(true)}>
          {t('certificates.new_csr')}
        </Button>
        <Button {...may.button('certificate.upload')} onClick={() => upload(true)}>
          {t('certificates.upload')}
        </Button>
      </Group>
      <div className={classes.beside}>
        <Card withBorder p={0} component="section" aria-label={t('nav.certificates')}>
          <DataTable
            label={t('nav.certificates')}
            rows={[...all].sort((a, b) => (a.days_left ?? Infinity) - (b.days_left ?? Infinity) || a.file.localeCompare(b.file))}
            id={(c) => c.file}
            minWidth={560}
            empty={t('certificates.none')}
            columns={[
              { head: t('certificates.file'), cell: (c) => <Name of={c} /> },
              { head: t('certificates.ends'), cell: (c) => (c.days_left === null ? 'CSR' : <Days left={c.days_left} />) },
              { head: t('certificates.used'), cell: (c) => <Used by={c.used_by ?? []} appliance={c.appliance === 'true'} /> },
            ]}
            actions={(c) => (
              <>
                <Button size="compact-sm" variant="default" onClick={() => look(c.file)} aria-label={t('certificates.details_of', { name: c.file })}>
                  {t('certificates.details')}
                </Button>
                <Button size="compact-sm" variant="default" {...may.button('certificate.delete')} onClick={() => setChange(removeCertificate(c.file, t))} aria-label={t('certificates.delete', { name: c.file })}>
                  {t('form.delete')}
                </Button>
              </>
            )}
          />
        </Card>
        <Calendar all={all} look={look} />
      </div>
      {looked && <Details file={looked} close={() => look(undefined)} />}
      {uploading && <UploadCertificate close={() => upload(false)} />}
      {requesting && <NewRequest close={() => ask(false)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

/** Name shows the file and the first of its host names. */
function Name({ of: c }: { of: Certificate }) {
  const names = [...new Set([c.CN, ...(c.names ?? [])])].filter(Boolean);
  return (
    <>
      <Text size="sm" fw={600} className="text">
        {c.file}
      </Text>
      <Text size="xs" c="dimmed" className="text">
        {names.slice(0, 4).join(', ')}
        {names.length > 4 && ' …'}
      </Text>
    </>
  );
}

function Used({ by, appliance }: { by: string[]; appliance: boolean }) {
  const { t } = useTranslation();
  const all = [...by, ...(appliance ? [t('certificates.appliance')] : [])];
  return <Text size="sm">{all.join(', ') || '–'}</Text>;
}
