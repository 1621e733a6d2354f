import { Button, Card, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { list } from '../api/files';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { pick, withTitles } from '../form/with-titles';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { when } from '../ui/time';
import { order, removeOrdered, renew, setRenewal } from './actions';
import { Account } from './account';
import { Days } from './days';
import type { Ordered } from './types';

/** Orders shows certificates ordered by ACME, and their renewal. */
export function Orders() {
  const { t } = useTranslation();
  const may = useMay();
  const orders = useQuery({ queryKey: ['certificates', 'ordered'], queryFn: () => list<Ordered>('certificates', 'letsencryptz') });
  const [ordering, begin] = useState(false);
  const [setting, set] = useState(false);
  const [edited, edit] = useState<Ordered>();
  const [change, setChange] = useState<Change>();
  if (!orders.data) return <QueryView of={orders}>{() => null}</QueryView>;
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={560}>
          {t('orders.about')}
        </Text>
        <Group gap="xs">
          <Button variant="default" onClick={() => set(true)}>
            {t('orders.settings_short')}
          </Button>
          <Button {...may.button('certificate.create')} onClick={() => begin(true)}>
            {t('orders.order')}
          </Button>
        </Group>
      </Group>
      <Card withBorder p={0} component="section" aria-label={t('certificates_tab.orders')}>
        <DataTable
          label={t('certificates_tab.orders')}
          rows={orders.data}
          id={(o) => o.file}
          empty={t('orders.none')}
          minWidth={880}
          columns={[
            { head: t('certificates.file'), cell: (o) => <Text size="sm" fw={600} miw={130} className="text">{o.file}</Text> },
            { head: t('field.domains'), cell: (o) => (o.domains ?? []).join(', ') },
            { head: t('certificates.ends'), cell: (o) => (o.days_left === null ? '–' : <Days left={o.days_left} />) },
            { head: t('orders.renewal'), cell: (o) => <Renewal of={o} /> },
          ]}
          actions={(o) => (
            <>
              <Button size="compact-sm" variant="default" {...may.button('certificate.create')} onClick={() => setChange(renew(o.file, new Date(o.due) > new Date(), t('orders.renew', { name: o.file })))} aria-label={t('orders.renew', { name: o.file })}>
                {t('orders.renew_short')}
              </Button>
              <Button size="compact-sm" variant="default" {...may.button('certificate.create')} onClick={() => edit(o)} aria-label={`${t('form.edit')}: ${o.file}`}>
                {t('form.edit')}
              </Button>
              <Button size="compact-sm" variant="default" {...may.button('certificate.delete')} onClick={() => setChange(removeOrdered(o.file, t('certificates.delete', { name: o.file })))} aria-label={t('certificates.delete', { name: o.file })}>
                {t('form.delete')}
              </Button>
            </>
          )}
        />
      </Card>
      {ordering && <NewOrder close={() => begin(false)} />}
      {setting && <Account close={() => set(false)} />}
      {edited && <EditRenewal of={edited} close={() => edit(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

function Renewal({ of: o }: { of: Ordered }) {
  const { t } = useTranslation();
  return (
    <>
      <Text size="sm">{o.autorenewal.status === 'true' ? t('orders.by_itself', { when: when(o.due) }) : t('orders.by_hand')}</Text>
      {o.failure && (
        <Text size="sm" className="text">
          {t('orders.failed')}: {o.failure}
        </Text>
      )}
    </>
  );
}

function NewOrder({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const body = useBody('post', '/certificates/letsencryptz');
  const schema = useMemo(() => withTitles(pick(body, ['domains', 'challenge', 'farmname', 'vip', 'test']), t), [body, t]);
  return <FormDrawer title={t('orders.order')} close={close} id="new order" schema={schema} when="create" verb={t('orders.order_short')} seen={{}} change={(sent) => order(sent, t('orders.order_of', { name: Array.isArray(sent.domains) ? sent.domains.join(', ') : '' }))} />;
}

function EditRenewal({ of: o, close }: { of: Ordered; close: () => void }) {
  const { t } = useTranslation();
  const body = useBody('put', '/certificates/letsencryptz/{certificate}');
  const schema = useMemo(() => withTitles(pick(body, ['autorenewal', 'farmname', 'vip']), t), [body, t]);
  const seen = { autorenewal: o.autorenewal.status, farmname: o.autorenewal.farm, vip: o.autorenewal.vip };
  return <FormDrawer title={t('orders.renewal_of', { name: o.file })} close={close} id={`renewal ${o.file}`} schema={schema} when="update" seen={seen} change={(sent) => setRenewal(o.file, seen, sent, t('orders.renewal_of', { name: o.file }))} />;
}
