import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { QueryView } from '../ui/query-view';
import { Wide } from '../ui/wide';
import { notifications, type Alert, type Kind } from './queries';
import { told, type Way } from './way';

const signs = { all: '✓', some: '(✓)', none: '–' };

/** EventTable shows which kinds of events each channel gets. */
export function EventTable({ ways }: { ways: Way[] }) {
  const kinds = useQuery(notifications.kinds);
  const alerts = useQuery(notifications.alerts);
  const error = kinds.error ?? alerts.error;
  const data = kinds.data && alerts.data && { kinds: kinds.data, alerts: alerts.data };
  return (
    <QueryView of={{ data, error, refetch: () => [kinds, alerts].forEach((q) => void q.refetch()) }}>
      {({ kinds, alerts }) => <Signs ways={ways} kinds={kinds} alerts={alerts} />}
    </QueryView>
  );
}

function Signs({ ways, kinds, alerts }: { ways: Way[]; kinds: Kind[]; alerts: Alert[] }) {
  const { t } = useTranslation();
  return (
    <>
      <Text size="sm" c="dimmed" mb="xs">
        {t('notice.signs')}
      </Text>
      <Wide label={t('notice.told')} minWidth={420 + 90 * ways.length}>
        <Table verticalSpacing="xs" highlightOnHover>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t('notice.event')}</Table.Th>
              {ways.map((w) => (
                <Table.Th key={`${w.what} ${w.name}`} scope="col" ta="center">
                  {w.name || t(`way.${w.what}`)}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {kinds.map((k) => (
              <Table.Tr key={k.kind}>
                <Table.Th scope="row">
                  <Text size="sm" className="code">
                    {k.kind}
                  </Text>
                  <Text size="xs" c="dimmed" fw={400}>
                    {t(`event.${k.kind}`, { defaultValue: k.description })}
                  </Text>
                </Table.Th>
                {ways.map((w) => {
                  const is = told(w, k, alerts);
                  return (
                    <Table.Td key={`${w.what} ${w.name}`} ta="center" title={t(`told.${is}`)}>
                      <span role="img" aria-label={t(`told.${is}`)}>
                        {signs[is]}
                      </span>
                    </Table.Td>
                  );
                })}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
    </>
  );
}
