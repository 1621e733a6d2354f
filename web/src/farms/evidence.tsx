import { Loader, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { duration } from '../ui/numbers';
import { Problem } from '../ui/problem';
import { State } from '../ui/state';
import { when } from '../ui/time';
import type { Target } from './actions';
import { Drawer } from '../ui/dialog';

/** Evidence explains the state of a backend. */
export function Evidence({ of, name, close }: { of: Target; name: string; close: () => void }) {
  const { t } = useTranslation();
  const { farm, service } = of;
  const backend = String(of.backend);
  const why = useQuery({
    queryKey: ['check', farm, service, backend],
    queryFn: () =>
      body(
        service
          ? api.GET('/farms/{farm}/services/{service}/backends/{backend}/check', { params: { path: { farm, service, backend } } })
          : api.GET('/farms/{farm}/backends/{backend}/check', { params: { path: { farm, backend } } }),
      ),
    refetchInterval: 5_000,
  });
  const found = why.data?.params;
  const results = found?.probes?.results ?? [];
  return (
    <Drawer opened onClose={close} position="right" title={t('backends.why', { name })} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {why.isPending && <Loader size="sm" aria-label="…" />}
      {why.error && <Problem error={why.error} />}
      {found && (
        <Stack>
          <State of={found.status} />
          <Text className="text">{found.reason}</Text>
          {found.probes && (
            <Text size="sm" c="dimmed">
              {t('evidence.check', { check: found.probes.check })}
            </Text>
          )}
          {results.length > 0 && (
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('history.when')}</Table.Th>
                  <Table.Th>{t('evidence.result')}</Table.Th>
                  <Table.Th ta="right">{t('evidence.took')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {[...results].reverse().map((r, i) => (
                  <Table.Tr key={i}>
                    <Table.Td>{when(r.at)}</Table.Td>
                    <Table.Td className="text">{r.healthy === 'true' ? t('evidence.healthy') : r.reason}</Table.Td>
                    <Table.Td className="number">{duration(r.took / 1000)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </Stack>
      )}
    </Drawer>
  );
}
