import { Alert, Autocomplete, Button, Card, Group, SegmentedControl, Select, Stack, Text, Textarea, TextInput, Title, useMatches } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { queries } from '../api/queries';
import { preview, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useDraft } from '../form/draft';
import { useMay } from '../session/may';
import { endpoint } from '../ui/address';
import { Problem } from '../ui/problem';
import { callOf, farmWrites, newFarm, split, type NewFarm } from './new-farm';

const profiles = ['http', 'https', 'l4xnat', 'gslb'] as const;

/**
 * CreateFarm asks for the minimum of a working farm, tests it, and creates farm, service and backends as one change.
 */
export function CreateFarm() {
  const { t } = useTranslation();
  const go = useNavigate();
  const may = useMay();
  const draft = useDraft('new farm', { farmname: '', profile: 'http', vip: '', vport: '', backends: '', certificate: '', zone: '' });
  const v = draft.values as NewFarm;
  const set = (name: keyof NewFarm) => (e: { currentTarget: { value: string } }) => draft.set(name, e.currentTarget.value);
  const addresses = useAddresses();
  const size = useMatches({ base: 'xs', sm: 'sm' });
  const orientation = useMatches<'vertical' | 'horizontal'>({ base: 'vertical', xs: 'horizontal' }); // side by side they are wider than a telephone
  const certificates = useQuery(queries.certificates).data?.params?.filter((c) => c.type === 'Certificate').map((c) => c.file);
  const [tried, setTried] = useState<Change>();
  const trial = useMutation({
    mutationFn: async (of: NewFarm) => {
      const change = newFarm(of, t('create.what', { name: of.farmname }));
      const { details } = await preview(change);
      return { change, warnings: details.filter(isAboutAddress).map((w) => w.message) };
    },
  });
  /** The result of a test is valid until the address changes. */
  const tested = trial.variables;
  const current = tested !== undefined && (['farmname', 'vip', 'vport', 'profile'] as const).every((name) => tested[name] === v[name]);
  const known = trial.isSuccess && current ? trial.data.warnings : undefined;
  /** Address and port are tested as soon as both are set, before anything else is filled in. */
  const off = may.call(callOf(v));
  const test = () => !off.disabled && v.farmname && v.vip && v.vport && trial.mutate({ ...v, backends: '', zone: '' });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    trial.mutate(v, { onSuccess: ({ change }) => setTried(change) });
  };
  const refused = current && trial.error instanceof Refused ? trial.error : undefined;
  const place = refused && farmWrites(trial.variables ?? v)[refused.write ?? 0];
  const at = place?.what === 'backend' ? 'backends' : place?.what === 'zone' ? 'zone' : place?.what === 'farm' ? fieldOf(refused?.field) : undefined;
  const wrong = (name: string) => (at === name ? refused?.message.replace(/^writes\[\d+\], \w+ \S+: /, '') : undefined);
  return (
    <Stack maw={720}>
      <Title order={1} size="h2">
        {t('create.title')}
      </Title>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Card withBorder>
            <Stack>
              <div role="group" aria-label={t('farms.profile')}>
                <SegmentedControl fullWidth orientation={orientation} size={size} value={v.profile} onChange={(p) => draft.set('profile', p)} data={profiles.map((p) => ({ value: p, label: t(`create.${p}`) }))} />
                <Text size="sm" c="dimmed" mt={4}>
                  {t(`create.${v.profile}_about`)}
                </Text>
              </div>
              <TextInput name="farmname" label={t('farms.name')} description={t('create.name_about')} required value={v.farmname} onChange={set('farmname')} onBlur={test} error={wrong('farmname')} />
              <Group align="start" grow preventGrowOverflow={false}>
                <Autocomplete name="vip" label={t('create.vip')} description={t('create.vip_about')} required data={addresses} value={v.vip} onChange={(to) => draft.set('vip', to)} onBlur={test} error={wrong('vip')} />
                <TextInput name="vport" label={t('create.vport')} description={t(v.profile === 'gslb' ? 'create.port_of_names' : 'create.vport_about')} required value={v.vport} onChange={set('vport')} onBlur={test} error={wrong('vport')} />
              </Group>
              {/* Space is reserved for the message, so that nothing moves under the pointer. */}
              <Text size="sm" mih="1.4em" role="status" className="text">
                {known?.length === 0 ? `✓ ${t('create.free', { at: endpoint(v.vip, v.vport) })}` : known?.join('; ')}
              </Text>
              {v.profile === 'https' && (
                <Select label={t('create.certificate')} description={t('create.certificate_about')} data={certificates ?? []} value={v.certificate || null} onChange={(c) => draft.set('certificate', c ?? '')} clearable placeholder="api.pem" />
              )}
              {v.profile === 'gslb' ? (
                <TextInput name="zone" label={t('create.zone')} description={t('create.zone_about')} placeholder="example.com" value={v.zone} onChange={set('zone')} error={wrong('zone')} />
              ) : (
                <Textarea name="backends" label={t('backends.title')} description={[t('create.backends_about'), ...(v.profile === 'l4xnat' ? [] : [t('create.catch_all')])].join(' ')} rows={4} classNames={{ input: 'code' }} placeholder={'10.0.0.11:8080\n10.0.0.12:8080'} value={v.backends} onChange={set('backends')} error={wrong('backends') ?? wrongLine(v.backends, t)} />
              )}
            </Stack>
          </Card>
          {off.title && <Alert color="gray">{off.title}</Alert>}
          {refused && !at && <Problem error={refused} changing />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => (draft.clear(), trial.reset())}>
              {t('form.discard')}
            </Button>
            <Button type="submit" {...off} loading={trial.isPending}>
              {t('form.create')}
            </Button>
          </Group>
        </Stack>
      </form>
      {tried && (
        <ChangeDialog
          change={tried}
          close={() => setTried(undefined)}
          done={() => {
            draft.clear();
            void go({ to: v.profile === 'gslb' ? '/farms/$farm/zones' : '/farms/$farm', params: { farm: v.farmname } });
          }}
        />
      )}
    </Stack>
  );
}

/** Whether a warning is about the address of the farm; others are shown when the farm is created. */
const isAboutAddress = (w: { field?: string }) => w.field === 'vip' || w.field === 'vport';

/** The field where a refusal of the farm is shown; a collision is about the address. */
const fieldOf = (field: string | undefined) => (field === 'farmname' || field === 'vip' || field === 'vport' ? field : undefined);

function wrongLine(backends: string, t: TFunction): string | undefined {
  const bad = backends.split('\n').find((line) => line.trim() !== '' && !split(line));
  return bad === undefined ? undefined : t('create.line', { line: bad });
}

/** The addresses of this machine that farms can use. */
function useAddresses(): string[] {
  const all = useQuery(queries.interfaces).data?.params;
  const found = [...(all?.nic ?? []), ...(all?.bond ?? [])].flatMap((n) => [n.ip]);
  return [...new Set(found.filter(Boolean))];
}
