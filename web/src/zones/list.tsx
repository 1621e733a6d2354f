import { Anchor, Box, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fileAt } from '../api/files';
import { zoneSegment } from '../api/path';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { removeZone } from './actions';
import { Warnings } from './warnings';
import { ZoneForm } from './zone-form';

/** ZoneList shows the zones of a farm. */
export function ZoneList() {
  const { t } = useTranslation();
  const may = useMay();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const object = useQuery(queries.farm(farm));
  const [edited, edit] = useState<{ zone?: string }>();
  const [change, setChange] = useState<Change>();
  return (
    <Stack>
      <Warnings farm={farm} />
      <Card withBorder p={0} component="section" aria-labelledby="zones">
        <Group p="md" pb="xs" justify="space-between">
          <div>
            <Title order={2} size="h4" id="zones">
              {t('tab.zones')}
            </Title>
            <Text size="sm" c="dimmed">
              {t('zones.about')}
            </Text>
          </div>
          <Button size="xs" {...may.button('farm.modify')} onClick={() => edit({})}>
            {t('zones.add')}
          </Button>
        </Group>
        {!object.data && (
          <Box px="md" pb="md">
            <QueryView of={object}>{() => null}</QueryView>
          </Box>
        )}
        {object.data && (
          <DataTable
            label={t('tab.zones')}
            rows={object.data.zones}
            id={(z) => z.id}
            empty={t('zones.none')}
            minWidth={860}
            columns={[
              {
                head: t('zones.zone'),
                cell: (z) => <Anchor size="sm" className="nowrap" renderRoot={(props) => <Link to="/farms/$farm/zones/$zone" params={{ farm, zone: zoneSegment(z.id) }} {...props} />}>{z.id}</Anchor>,
              },
              { head: t('zones.server'), cell: (z) => z.defnamesv },
              { head: t('zones.serial'), cell: (z) => z.serial, number: true },
              { head: t('zones.ttl'), cell: (z) => `${z.ttl} s`, number: true },
              { head: t('zones.records'), cell: (z) => z.record_count, number: true },
            ]}
            actions={(z) => (
              <>
                <Button component="a" href={fileAt('farms', farm, 'zones', z.id, 'export')} download={`${z.id}.zone`} size="compact-sm" variant="default" aria-label={`${t('upload.download')}: ${z.id}`}>
                  {t('upload.download')}
                </Button>
                <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={() => edit({ zone: z.id })} aria-label={`${t('form.edit')}: ${z.id}`}>
                  {t('form.edit')}
                </Button>
                <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={() => setChange(removeZone(farm, z.id, t('zones.delete', { name: z.id })))} aria-label={t('zones.delete', { name: z.id })}>
                  {t('form.delete')}
                </Button>
              </>
            )}
          />
        )}
      </Card>
      {edited && <ZoneForm farm={farm} name={edited.zone} zone={object.data?.zones.find((z) => z.id === edited.zone)} close={() => edit(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}
