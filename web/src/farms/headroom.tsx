import { Card, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Wide } from '../ui/wide';
import { queries } from '../api/queries';
import { count, duration } from '../ui/numbers';

const percent = (n: number | null | undefined) => (n === null || n === undefined ? '–' : `${n.toFixed(0)} %`);

/** Headroom is how much more each backend can take, as its traffic has taught. */
export function Headroom({ farm }: { farm: string }) {
  const { t } = useTranslation();
  const rows = useQuery(queries.headroom(farm)).data?.params ?? [];
  if (rows.length === 0) return null;
  return (
    <Card withBorder p={0} component="section" aria-labelledby="headroom">
      <Title order={2} size="h4" id="headroom" p="md" pb="xs">
        {t('headroom.title')}
      </Title>
      <Wide label={t('headroom.title')} minWidth={640}>
        <Table verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('backends.backend')}</Table.Th>
              {['headroom.left', 'headroom.peak', 'headroom.limit', 'headroom.latency'].map((w) => (
                <Table.Th key={w} ta="right">
                  {t(w)}
                </Table.Th>
              ))}
              <Table.Th>{t('headroom.why')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((r) => (
              <Table.Tr key={`${r.service} ${r.id}`}>
                <Table.Td className="text">
                  {r.service} {r.alias || `${r.ip}:${r.port ?? ''}`}
                </Table.Td>
                <Table.Td className="number">{percent(r.headroom)}</Table.Td>
                <Table.Td className="number">{percent(r.headroom_peak)}</Table.Td>
                <Table.Td className="number">{count(r.limit)}</Table.Td>
                <Table.Td className="number">{duration(r.base_latency)}</Table.Td>
                <Table.Td>
                  <Text size="sm" className="text">
                    {r.text}
                  </Text>
                  {r.advice && (
                    <Text size="xs" c="dimmed" className="text">
                      {r.advice}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
    </Card>
  );
}
