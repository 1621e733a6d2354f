import { Badge, Box, Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { fileAt } from '../api/files';
import { useMay } from '../session/may';
import { darkOrange } from '../ui/theme';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { Facts } from '../ui/facts';
import { machineTime, when } from '../ui/time';

/** SystemOverview shows the running versions, available updates, and data for support. */
export function SystemOverview() {
  const { t } = useTranslation();
  const may = useMay();
  const version = useQuery({ queryKey: ['version'], queryFn: () => body(api.GET('/system/version')) });
  const v = version.data?.params;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Card withBorder component="section" aria-labelledby="versions">
          <Title order={2} size="h4" id="versions" mb="xs">
            {t('system.versions')}
          </Title>
          {!version.data && <QueryView of={version}>{() => null}</QueryView>}
          {v && (
            <Facts
              facts={[
                ['Sluice', v.sluice_version],
                [t('system.kernel'), v.kernel_version],
                [t('system.hostname'), v.hostname],
                [t('system.date'), machineTime(v.system_date)],
              ]}
            />
          )}
        </Card>
        <Card withBorder component="section" aria-labelledby="support">
          <Title order={2} size="h4" id="support" mb="xs">
            {t('system.support')}
          </Title>
          <Stack align="start">
            <Text size="sm">{t('system.support_about')}</Text>
            <Button component="a" href={fileAt('system', 'supportsave')} download variant="default" {...may.button('supportsave.download')}>
              {t('system.support_get')}
            </Button>
          </Stack>
        </Card>
      </SimpleGrid>
      <Updates />
    </Stack>
  );
}

/** Updates lists the packages of the machine with available updates. */
function Updates() {
  const { t } = useTranslation();
  const updates = useQuery({ queryKey: ['packages'], queryFn: () => body(api.GET('/system/packages')), staleTime: 60_000 });
  const u = updates.data?.params;
  return (
    <Card withBorder p={0} component="section" aria-labelledby="updates">
      <Group p="md" pb="xs" justify="space-between">
        <Title order={2} size="h4" id="updates">
          {t('system.updates')}
        </Title>
        {u?.last_check && (
          <Text size="sm" c="dimmed">
            {t('system.checked', { when: when(u.last_check) })}
          </Text>
        )}
      </Group>
      {!updates.data && (
        <Box px="md" pb="md">
          <QueryView of={updates}>{() => null}</QueryView>
        </Box>
      )}
      {u && (
        <>
          <Text size="sm" px="md" pb="xs">
            {u.message}
          </Text>
          {(u.packages ?? []).length > 0 && (
            <div className="rows short" tabIndex={0} role="region" aria-label={t('system.updates')}>
              <DataTable
                label={t('system.updates')}
                rows={[...(u.packages ?? [])].sort((a, b) => b.security.localeCompare(a.security) || a.name.localeCompare(b.name))}
                id={(p) => p.name}
                empty=""
                minWidth={520}
                columns={[
                  { head: t('system.package'), cell: (p) => p.name },
                  { head: t('system.from'), cell: (p) => p.from },
                  { head: t('system.to'), cell: (p) => p.to },
                  {
                    head: t('system.security'),
                    cell: (p) =>
                      p.security === 'true' ? (
                        <Badge color={darkOrange} tt="none">
                          {t('system.security')}
                        </Badge>
                      ) : (
                        '–'
                      ),
                  },
                ]}
              />
            </div>
          )}
        </>
      )}
    </Card>
  );
}
