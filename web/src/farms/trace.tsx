import { Button, Card, Group, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { duration } from '../ui/numbers';
import { Wide } from '../ui/wide';

/** An exchange that ended, or a question that was answered, as the trace of a farm tells of it. */
type Exchange = {
  time: string;
  service?: string;
  backend?: string;
  client?: string;
  method?: string;
  host?: string;
  path?: string;
  name?: string;
  type?: string;
  rcode?: string;
  status?: number;
  total_us?: number;
  decision?: string;
  rejection?: string;
  reason?: string;
  flags?: string[];
};

/** As many are kept in sight. */
const kept = 200;
const ofRequests = ['status', 'path', 'client', 'backend'] as const;
const ofQuestions = ['name', 'type', 'rcode', 'client'] as const;

/** FarmTrace shows exchanges as they end, and who decided where each went. */
export function FarmTrace() {
  const { t } = useTranslation();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const filters = useQuery(queries.numbers(farm)).data?.farm?.profile === 'gslb' ? ofQuestions : ofRequests;
  const [watching, watch] = useState(false);
  const [filter, setFilter] = useState<Record<string, string>>({});
  const seen = useExchanges(farm, filter, watching);
  return (
    <Card withBorder p={0} component="section" aria-label={t('tab.trace')}>
      <Group p="md" align="end">
        {filters.map((f) => (
          <TextInput key={f} size="xs" w={130} label={t(`trace.${f}`)} disabled={watching} value={filter[f] ?? ''} onChange={(e) => setFilter({ ...filter, [f]: e.currentTarget.value })} />
        ))}
        <Button size="xs" onClick={() => watch(!watching)}>
          {t(watching ? 'trace.stop' : 'trace.start')}
        </Button>
        <Text size="sm" c="dimmed" role="status">
          {watching ? t('trace.watching') : ''}
        </Text>
      </Group>
      {seen.length === 0 ? (
        <Text c="dimmed" p="md" pt={0}>
          {t('trace.none')}
        </Text>
      ) : (
        <Wide label={t('tab.trace')} minWidth={860}>
          <Table verticalSpacing={4}>
            <Table.Thead>
              <Table.Tr>
                {['history.when', 'trace.client', 'trace.request', 'trace.status', 'evidence.took', 'trace.way', 'trace.decision'].map((w) => (
                  <Table.Th key={w}>{t(w)}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {seen.map((e, i) => (
                <Table.Tr key={seen.length - i}>
                  <Table.Td>{e.time.slice(11, 23)}</Table.Td>
                  <Table.Td className="text">{e.client}</Table.Td>
                  <Table.Td className="text">
                    {e.method ?? e.type} {e.host ?? e.name}
                    {e.path}
                  </Table.Td>
                  <Table.Td>{e.rcode ?? e.status}</Table.Td>
                  <Table.Td className="number">{e.rcode ? '' : duration((e.total_us ?? 0) / 1e6)}</Table.Td>
                  <Table.Td className="text">{[e.service, e.backend].filter(Boolean).join(' → ')}</Table.Td>
                  <Table.Td className="text">{[e.decision, e.rejection, e.reason, ...(e.flags ?? [])].filter(Boolean).join(', ')}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Card>
  );
}

/** The newest exchanges first; those of one moment are drawn together. */
function useExchanges(farm: string, filter: Record<string, string>, on: boolean): Exchange[] {
  const [seen, setSeen] = useState<Exchange[]>([]);
  useEffect(() => {
    if (!on) return;
    setSeen([]);
    const query = new URLSearchParams(Object.entries(filter).filter(([, v]) => v.trim() !== ''));
    const source = new EventSource(`/api/v4.0/farms/${encodeURIComponent(farm)}/trace?${query}`);
    let fresh: Exchange[] = [];
    source.onmessage = (e: MessageEvent<string>) => {
      if (fresh.push(JSON.parse(e.data) as Exchange) > kept) fresh.shift();
    };
    const timer = setInterval(() => {
      if (fresh.length === 0) return;
      const newest = fresh.reverse();
      fresh = [];
      setSeen((before) => [...newest, ...before].slice(0, kept));
    }, 250);
    return () => {
      clearInterval(timer);
      source.close();
    };
  }, [farm, filter, on]);
  return seen;
}
