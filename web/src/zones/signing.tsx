import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { OneTimeText } from '../ui/one-time-text';
import { when } from '../ui/time';
import { activateKey, addKey, removeKey } from './actions';
import type { Zone } from './types';

type Key = Zone['keys'][number];
const colors = { active: 'green', published: 'blue', retired: 'gray' } as const;

/** Signing shows the DNSSEC keys of a zone, and the records for the registrar. */
export function Signing({ farm, zone, set }: { farm: string; zone: Zone; set: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const [change, setChange] = useState<Change>();
  const signed = zone.dnssec !== 'off';
  return (
    <Card withBorder component="section" aria-labelledby="signing">
      <Stack gap="sm">
        <Group justify="space-between" align="start" wrap="nowrap">
          <div>
            <Title order={3} size="h4" id="signing">
              DNSSEC
            </Title>
            <Text size="sm" c="dimmed">
              {t(signed ? 'dnssec.about' : 'dnssec.off', { algorithm: zone.dnssec })}
            </Text>
          </div>
          {!signed && (
            <Button size="xs" variant="default" {...may.button('farm.modify')} onClick={set}>
              {t('dnssec.set')}
            </Button>
          )}
          {signed && !zone.keys.some((k) => k.state === 'published') && (
            <Button size="xs" variant="default" className="nowrap" {...may.button('farm.modify')} onClick={() => setChange(addKey(farm, zone.id, t('dnssec.add', { zone: zone.id })))}>
              {t('dnssec.add_short')}
            </Button>
          )}
        </Group>
        {zone.keys.map((k) => (
          <KeyOf key={k.id} zone={zone} of={k}>
            {signed && k.state === 'published' && (
              <Button size="compact-sm" {...may.button('farm.modify')} onClick={() => setChange(activateKey(farm, zone.id, k.id, t('dnssec.use', { key: k.id })))}>
                {t('dnssec.use', { key: k.id })}
              </Button>
            )}
            {(!signed || k.state !== 'active') && (
              <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={() => setChange(removeKey(farm, zone.id, k.id, t('dnssec.delete', { key: k.id })))}>
                {t('dnssec.delete', { key: k.id })}
              </Button>
            )}
          </KeyOf>
        ))}
      </Stack>
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Card>
  );
}

/** The data of a key, with its records for the registrar. */
function KeyOf({ zone, of, children }: { zone: Zone; of: Key; children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Stack gap={6} role="group" aria-label={t('dnssec.key', { key: of.id })}>
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={600}>{t('dnssec.key', { key: of.id })}</Text>
          <Badge variant="light" color={colors[of.state]}>
            {t(`dnssec.${of.state}`)}
          </Badge>
          <Text size="sm" c="dimmed">
            {of.algorithm} · {t('dnssec.since', { time: when(of.since) })}
          </Text>
        </Group>
        <Group gap="xs">{children}</Group>
      </Group>
      <Text size="sm">{t(`dnssec.${of.state}_about`)}</Text>
      {of.next && <Text size="sm">{of.next}</Text>}
      {of.state !== 'retired' && (
        <>
          <OneTimeText label={t('dnssec.ds', { key: of.id })} text={`${zone.id}. DS ${of.ds}`} />
          <OneTimeText label={t('dnssec.dnskey', { key: of.id })} text={`${zone.id}. DNSKEY ${of.dnskey}`} />
        </>
      )}
    </Stack>
  );
}
