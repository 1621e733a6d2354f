import { Autocomplete, Card, Group, SegmentedControl, Select, Stack, Text, Textarea, TextInput, useMatches } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { endpoint } from '../ui/address';
import { split, type NewFarm } from './new-farm';

const profiles = ['http', 'https', 'l4xnat', 'gslb'] as const;

type Props = {
  values: NewFarm;
  set: (name: keyof NewFarm, value: string) => void;
  /** Tests the address and port. */
  test: () => void;
  errorOf: (name: keyof NewFarm) => string | undefined;
  /** The warnings about a tested address; undefined before the test. */
  warnings?: string[];
};

/** Inputs are the inputs for the minimum of a working farm. */
export function Inputs({ values: v, set, test, errorOf, warnings }: Props) {
  const { t } = useTranslation();
  const typed = (name: keyof NewFarm) => (e: { currentTarget: { value: string } }) => set(name, e.currentTarget.value);
  const addresses = useAddresses();
  const size = useMatches({ base: 'xs', sm: 'sm' });
  const orientation = useMatches<'vertical' | 'horizontal'>({ base: 'vertical', xs: 'horizontal' }); // side by side they are wider than a telephone
  const certificates = useQuery(queries.certificates).data?.params?.filter((c) => c.type === 'Certificate').map((c) => c.file);
  return (
    <Card withBorder>
      <Stack>
        <div role="group" aria-label={t('farms.profile')}>
          <SegmentedControl fullWidth orientation={orientation} size={size} value={v.profile} onChange={(p) => set('profile', p)} data={profiles.map((p) => ({ value: p, label: t(`create.${p}`) }))} />
          <Text size="sm" c="dimmed" mt={4}>
            {t(`create.${v.profile}_about`)}
          </Text>
        </div>
        <TextInput name="farmname" label={t('farms.name')} description={t('create.name_about')} required value={v.farmname} onChange={typed('farmname')} onBlur={test} error={errorOf('farmname')} />
        <Group align="start" grow preventGrowOverflow={false}>
          <Autocomplete name="vip" label={t('create.vip')} description={t('create.vip_about')} required data={addresses} value={v.vip} onChange={(to) => set('vip', to)} onBlur={test} error={errorOf('vip')} />
          <TextInput name="vport" label={t('create.vport')} description={t(v.profile === 'gslb' ? 'create.port_of_names' : 'create.vport_about')} required value={v.vport} onChange={typed('vport')} onBlur={test} error={errorOf('vport')} />
        </Group>
        {/* Space is reserved for the message, so that nothing moves under the pointer. */}
        <Text size="sm" mih="1.4em" role="status" className="text">
          {warnings?.length === 0 ? `✓ ${t('create.free', { at: endpoint(v.vip, v.vport) })}` : warnings?.join('; ')}
        </Text>
        {v.profile === 'https' && (
          <Select label={t('create.certificate')} description={t('create.certificate_about')} data={certificates ?? []} value={v.certificate || null} onChange={(c) => set('certificate', c ?? '')} clearable placeholder="api.pem" />
        )}
        {v.profile === 'gslb' ? (
          <TextInput name="zone" label={t('create.zone')} description={t('create.zone_about')} placeholder="example.com" value={v.zone} onChange={typed('zone')} error={errorOf('zone')} />
        ) : (
          <Textarea name="backends" label={t('backends.title')} description={[t('create.backends_about'), ...(v.profile === 'l4xnat' ? [] : [t('create.catch_all')])].join(' ')} rows={4} classNames={{ input: 'code' }} placeholder={'10.0.0.11:8080\n10.0.0.12:8080'} value={v.backends} onChange={typed('backends')} error={errorOf('backends') ?? wrongLine(v.backends, t)} />
        )}
      </Stack>
    </Card>
  );
}

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
