import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fileAt } from '../api/files';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Back } from '../ui/back';
import { removeZone } from './actions';
import { ImportZone } from './import';
import { Records } from './records';
import { Signing } from './signing';
import { zoneQuery } from './types';
import { Warnings } from './warnings';
import { ZoneForm } from './zone-form';

/** ZonePage shows a zone with its records. */
export function ZonePage() {
  const { t } = useTranslation();
  const may = useMay();
  const go = useNavigate();
  const { farm, zone: name } = useParams({ strict: false }) as { farm: string; zone: string };
  const asked = useQuery(zoneQuery(farm, name));
  const [editing, edit] = useState(false);
  const [importing, setImporting] = useState(false);
  const [change, setChange] = useState<Change>();
  return (
    <QueryView of={asked} back={<Back to={`/farms/${farm}/zones`}>{t('tab.zones')}</Back>}>
      {(zone) => (
        <Stack>
          <Group justify="space-between" align="start">
            <div>
              <Anchor size="sm" renderRoot={(props) => <Link to="/farms/$farm/zones" params={{ farm }} {...props} />}>
                ← {t('tab.zones')}
              </Anchor>
              <Title order={2} size="h3" className="text">
                {zone.id}
              </Title>
              <Text size="sm" c="dimmed" className="text">
                {t('zones.facts', { server: zone.defnamesv, serial: zone.serial, ttl: zone.ttl })}
              </Text>
            </div>
            <Group gap="xs">
              <Button size="xs" variant="default" {...may.button('farm.modify')} onClick={() => edit(true)} aria-label={`${t('form.edit')}: ${zone.id}`}>
                {t('form.edit')}
              </Button>
              <Button size="xs" variant="default" {...may.button('farm.modify')} onClick={() => setImporting(true)}>
                {t('zones.import')}
              </Button>
              <Button size="xs" variant="default" component="a" href={fileAt('farms', farm, 'zones', zone.id, 'export')} download={`${zone.id}.zone`}>
                {t('upload.download')}
              </Button>
              <Button size="xs" variant="default" {...may.button('farm.modify')} onClick={() => setChange(removeZone(farm, zone.id, t('zones.delete', { name: zone.id })))} aria-label={t('zones.delete', { name: zone.id })}>
                {t('zones.delete_short')}
              </Button>
            </Group>
          </Group>
          <Warnings farm={farm} zone={zone.id} />
          <Records key={`${farm} ${zone.id}`} farm={farm} zone={zone} />
          <Signing farm={farm} zone={zone} set={() => edit(true)} />
          {editing && <ZoneForm farm={farm} name={zone.id} zone={zone} close={() => edit(false)} />}
          {importing && <ImportZone farm={farm} zone={zone.id} close={() => setImporting(false)} />}
          {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={() => void go({ to: '/farms/$farm/zones', params: { farm } })} />}
        </Stack>
      )}
    </QueryView>
  );
}
