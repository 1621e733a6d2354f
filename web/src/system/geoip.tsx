import { Button, Card, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { object, upload, uploaded } from '../api/files';
import type { components } from '../api/schema';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Drop } from '../ui/drop';
import { Facts } from '../ui/facts';
import { done } from '../ui/notify';
import { Problem } from '../ui/problem';
import { day, when } from '../ui/time';
import { removeGeoip } from './actions';

type Database = components['schemas']['GeoIPView'];
type Place = components['schemas']['PlaceView'];

const key = ['geoip'];

/** Geoip shows the database of client locations, which services with the algorithms geo and nearest use. */
export function Geoip() {
  const { t } = useTranslation();
  const may = useMay();
  const database = useQuery({ queryKey: key, queryFn: () => object<Database>('system', 'geoip') });
  const [change, setChange] = useState<Change>();
  if (!database.data) return <QueryView of={database}>{() => null}</QueryView>;
  const of = database.data;
  const there = of.installed === 'true';
  return (
    <Stack>
      <Text size="sm" c="dimmed" maw={640}>
        {t('geoip.about')}
      </Text>
      <Card withBorder component="section" aria-labelledby="geoip-in-use">
        <Group justify="space-between" mb="xs">
          <Title order={2} size="h4" id="geoip-in-use">
            {t('geoip.in_use')}
          </Title>
          {there && (
            <Button size="compact-sm" variant="default" {...may.button('system-service.modify')} onClick={() => setChange(removeGeoip(t('geoip.delete')))}>
              {t('geoip.delete')}
            </Button>
          )}
        </Group>
        {there ? (
          <Facts
            facts={[
              [t('geoip.kind'), of.kind],
              [t('geoip.built'), of.built && day(of.built)],
              [t('geoip.uploaded'), of.uploaded && t('geoip.uploaded_by', { at: when(of.uploaded), by: of.by })],
              [t('geoip.countries'), of.countries_known],
              [t('geoip.nets'), `${of.nets_ipv4 ?? 0} IPv4, ${of.nets_ipv6 ?? 0} IPv6`],
              [t('geoip.coordinates'), t(of.has_coordinates === 'true' ? 'geoip.with' : 'geoip.without')],
            ]}
          />
        ) : (
          <Text size="sm">{t('geoip.none')}</Text>
        )}
      </Card>
      {there && <Find />}
      {may('system-service.modify') && <Upload />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

/** Find looks up the location of an address. */
function Find() {
  const { t } = useTranslation();
  const [address, setAddress] = useState('');
  const found = useMutation({ mutationFn: () => object<Place>('system', 'geoip', address.trim()) });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    found.mutate();
  };
  const place = found.data;
  return (
    <Card withBorder component="section" aria-labelledby="geoip-find">
      <Title order={2} size="h4" id="geoip-find" mb="xs">
        {t('geoip.find')}
      </Title>
      <form onSubmit={submit} noValidate>
        <Group align="end">
          <TextInput label={t('geoip.address')} placeholder="198.51.100.7" value={address} onChange={(e) => setAddress(e.currentTarget.value)} />
          <Button type="submit" variant="default" loading={found.isPending} disabled={address.trim() === ''}>
            {t('explain.ask')}
          </Button>
        </Group>
      </form>
      {found.error && <Problem error={found.error} />}
      {place && (
        <Text size="sm" mt="xs" className="text" role="status">
          {t(place.known === 'true' ? 'geoip.is' : 'geoip.is_not', { address: place.address, place: [place.country, place.continent].filter(Boolean).join(', '), net: place.net })}
          {place.coordinates && ` (${place.coordinates})`}
        </Text>
      )}
    </Card>
  );
}

/** Upload replaces the database. */
function Upload() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [files, setFiles] = useState<File[]>([]);
  const send = useMutation({
    mutationFn: () => uploaded(upload('PUT', ['system', 'geoip'], files[0], 'application/octet-stream')),
    onSuccess: (answer) => {
      done(answer.message ?? '');
      setFiles([]);
      void client.invalidateQueries({ queryKey: key });
    },
  });
  return (
    <Card withBorder component="section" aria-labelledby="geoip-upload">
      <Title order={2} size="h4" id="geoip-upload" mb="xs">
        {t('geoip.upload')}
      </Title>
      <Stack>
        <Drop label={t('geoip.file')} about={t('geoip.drop')} files={files} set={setFiles} accept=".mmdb" />
        {send.error && <Problem error={send.error} />}
        <Group justify="flex-end">
          <Button disabled={files.length === 0} loading={send.isPending} onClick={() => send.mutate()}>
            {t('upload.send')}
          </Button>
        </Group>
      </Stack>
    </Card>
  );
}
