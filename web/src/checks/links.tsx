import { Button, Card, Group, Select, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay, type Off } from '../session/may';
import { FarmLink } from '../ui/farm-link';
import { link, nameOf, placeOf, unlink, type Place } from './actions';

/** Links shows the farms and services whose backends a check probes. */
export function Links({ check, places }: { check: string; places: string[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const [change, setChange] = useState<Change>();
  return (
    <Card withBorder component="section" aria-labelledby="links">
      <Title order={2} size="h4" id="links" mb="xs">
        {t('checks.links')}
      </Title>
      <Stack gap="xs">
        {places.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('checks.no_links')}
          </Text>
        )}
        {places.map(placeOf).map((place) => (
          <Group key={nameOf(place)} gap="xs">
            <FarmLink farm={place.farm} />
            {place.service !== undefined && <Text size="sm">/ {place.service}</Text>}
            <Button
              size="compact-xs"
              variant="default"
              {...may.button('farm.modify')}
              aria-label={t('checks.unlink', { place: nameOf(place) })}
              onClick={() => setChange(unlink(check, place, t('checks.unlink', { place: nameOf(place) })))}
            >
              {t('checks.unlink_short')}
            </Button>
          </Group>
        ))}
        <NewLink chosen={(place) => setChange(link(check, place, t('checks.link', { place: nameOf(place) })))} off={may.button('farm.modify')} />
      </Stack>
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Card>
  );
}

/** NewLink selects a farm and, if it has services, one of them. */
function NewLink({ chosen, off }: { chosen: (place: Place) => void; off: Off }) {
  const { t } = useTranslation();
  const farms = useQuery(queries.farms).data?.farms ?? [];
  const [farm, setFarm] = useState<string | null>(null);
  const [service, setService] = useState<string | null>(null);
  const object = useQuery({ ...queries.farm(farm ?? ''), enabled: farm !== null }).data;
  const flat = object?.params.profile === 'l4xnat';
  const services = object?.services.map((s) => s.id) ?? [];
  return (
    <Group align="end" gap="xs">
      <Select size="xs" label={t('checks.farm')} data={farms.map((f) => f.farmname)} value={farm} onChange={(f) => (setFarm(f), setService(null))} {...off} searchable />
      {farm && object && !flat && <Select size="xs" label={t('backends.service')} data={services} value={service} onChange={setService} {...off} />}
      <Button size="xs" variant="default" {...off} disabled={off.disabled || !farm || !object || (!flat && !service)} onClick={() => chosen(flat ? { farm: String(farm) } : { farm: String(farm), service: String(service) })}>
        {t('checks.link_short')}
      </Button>
    </Group>
  );
}
