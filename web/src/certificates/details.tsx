import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fileAt, text } from '../api/files';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { OneTimeText } from '../ui/one-time-text';
import { Facts } from '../ui/facts';
import { Problem } from '../ui/problem';
import { when } from '../ui/time';
import { restoreCertificate } from './actions';
import { Days } from './days';
import { UploadCertificate } from './upload';
import { Drawer } from '../ui/dialog';

/** Details shows all data of a certificate, or of a CSR the data for its authority. */
export function Details({ file, close }: { file: string; close: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const c = useQuery(queries.certificates).data?.params?.find((one) => one.file === file);
  const info = useQuery({ queryKey: ['certificate', file, 'info'], queryFn: () => text('certificates', file, 'info') });
  const csr = c?.type === 'CSR';
  const pem = useQuery({ queryKey: ['certificate', file, 'pem'], queryFn: () => text('certificates', file), enabled: csr && may('certificate.download') });
  const [replacing, replace] = useState(false);
  const [change, setChange] = useState<Change>();
  return (
    <Drawer opened onClose={close} position="right" size="lg" title={file} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <Stack>
        <Group gap="xs">
          <Button component="a" href={fileAt('certificates', file)} download={file} variant="default" size="xs" {...may.button('certificate.download')}>
            {t('upload.download')}
          </Button>
          {!csr && (
            <Button variant="default" size="xs" {...may.button('certificate.upload', c?.appliance === 'true')} onClick={() => replace(true)}>
              {t('certificates.replace')}
            </Button>
          )}
          {c?.previous && (
            <Button variant="default" size="xs" {...may.button('certificate.upload')} onClick={() => setChange(restoreCertificate(file, t('certificates.restore_of', { name: file }), c))}>
              {t('certificates.restore')}
            </Button>
          )}
        </Group>
        {c && (
          <Facts
            facts={[
              [t('certificates.names'), (c.names ?? []).join(', ') || c.CN],
              [t('certificates.issuer'), c.issuer],
              [t('certificates.ends'), c.expiration && c.days_left !== null ? <Group gap="xs">{when(c.expiration)} <Days left={c.days_left} /></Group> : undefined],
              [t('certificates.missing'), c.missing_issuer],
              [t('certificates.key'), c.key_type],
              [t('certificates.fingerprint'), c.fingerprint],
              [t('certificates.used'), (c.used_by ?? []).join(', ')],
              [t('certificates.added'), `${when(c.added)}, ${c.author}`],
              [t('certificates.previous'), c.previous && t('certificates.previous_of', { names: (c.previous.names ?? []).join(', '), time: when(c.previous.expiration) })],
              [t('certificates.problem'), c.problem || c.ocsp.problem],
            ]}
          />
        )}
        {csr && (
          <>
            <Text size="sm">{t('certificates.csr_about')}</Text>
            {pem.data && <OneTimeText label={t('certificates.csr')} text={pem.data} />}
            {pem.error && <Problem error={pem.error} />}
          </>
        )}
        {!info.data && <QueryView of={info}>{() => null}</QueryView>}
        {info.data && (
          <Code block tabIndex={0}>
            {info.data}
          </Code>
        )}
        {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
        {replacing && <UploadCertificate name={file} close={() => replace(false)} />}
      </Stack>
    </Drawer>
  );
}
