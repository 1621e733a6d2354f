import { Button, Card, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fileAt } from '../api/files';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { when } from '../ui/time';
import { removeAuthority, removeCRLs } from './actions';
import type { Authority } from './types';
import { UploadAuthority, type Sent } from './upload-authority';

/** Authorities shows the lists that verify clients and backends, and their revocations. */
export function Authorities() {
  const { t } = useTranslation();
  const may = useMay();
  const lists = useQuery(queries.authorities);
  const [sent, send] = useState<Sent>();
  const [change, setChange] = useState<Change>();
  if (!lists.data) return <QueryView of={lists}>{() => null}</QueryView>;
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={560}>
          {t('authorities.about')}
        </Text>
        <Button {...may.button('certificate.upload')} onClick={() => send({ what: 'list' })}>
          {t('authorities.upload')}
        </Button>
      </Group>
      <Card withBorder p={0} component="section" aria-label={t('certificates_tab.authorities')}>
        <DataTable
          label={t('certificates_tab.authorities')}
          rows={lists.data.params ?? []}
          id={(a) => a.name}
          empty={t('authorities.none')}
          minWidth={820}
          columns={[
            { head: t('certificates.name'), cell: (a) => <Text size="sm" fw={600} miw={110} className="text">{a.name}</Text> },
            { head: t('authorities.holds'), cell: (a) => <Holds list={a} /> },
            { head: t('authorities.crls'), cell: (a) => <CRLs list={a} /> },
            { head: t('certificates.used'), cell: (a) => (a.used_by ?? []).join(', ') || '–' },
          ]}
          actions={(a) => (
            <>
              <Button component="a" href={fileAt('certificates', 'ca', a.name)} download={`${a.name}.pem`} size="compact-sm" variant="default" {...may.button('certificate.download')} aria-label={`${t('upload.download')}: ${a.name}`}>
                {t('upload.download')}
              </Button>
              <Button size="compact-sm" variant="default" {...may.button('certificate.upload')} onClick={() => send({ what: 'crl', name: a.name })} aria-label={`${t('authorities.crl')}: ${a.name}`}>
                {t('authorities.crl')}
              </Button>
              {(a.crls ?? []).length > 0 && (
                <Button size="compact-sm" variant="default" {...may.button('certificate.upload')} onClick={() => setChange(removeCRLs(a.name, t('authorities.no_crl', { name: a.name })))} aria-label={t('authorities.no_crl', { name: a.name })}>
                  {t('authorities.no_crl_short')}
                </Button>
              )}
              <Button size="compact-sm" variant="default" {...may.button('certificate.delete')} onClick={() => setChange(removeAuthority(a.name, t('certificates.delete', { name: a.name })))} aria-label={t('certificates.delete', { name: a.name })}>
                {t('form.delete')}
              </Button>
            </>
          )}
        />
      </Card>
      {sent && <UploadAuthority of={sent} close={() => send(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

function Holds({ list }: { list: Authority }) {
  return (
    <>
      {(list.certificates ?? []).map((c) => (
        <Text key={`${c.CN} ${c.expiration}`} size="sm">
          {[c.CN, when(c.expiration), ...(c.status === 'valid' ? [] : [c.status])].join(' · ')}
        </Text>
      ))}
      {list.problem && <Text size="sm">{list.problem}</Text>}
    </>
  );
}

function CRLs({ list }: { list: Authority }) {
  const { t } = useTranslation();
  return (
    <>
      {(list.crls ?? []).map((l) => (
        <Text key={l.issuer} size="sm">
          {l.issuer}: {t('authorities.revoked', { count: l.entries })}
          {l.outdated === 'true' ? ` · ${t('authorities.outdated')}` : ''}
        </Text>
      ))}
      {(list.crls ?? []).length === 0 && '–'}
    </>
  );
}
