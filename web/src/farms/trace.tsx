import { Alert, Button, Card, Group, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { duration } from '../ui/numbers';
import { clock } from '../ui/time';
import { Wide } from '../ui/wide';
import { happened, type Exchange } from './exchange';

/** The number of exchanges shown. */
const kept = 200;
const ofRequests = ['status', 'path', 'client', 'backend'] as const;
const ofQuestions = ['name', 'type', 'rcode', 'client'] as const;

/** FarmTrace shows exchanges as they end, and how each was routed. */
export function FarmTrace() {
  const { t } = useTranslation();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const filters = useQuery(queries.numbers(farm)).data?.farm?.profile === 'gslb' ? ofQuestions : ofRequests;
  const [watching, watch] = useState(false);
  const [filter, setFilter] = useState<Record<string, string>>({});
  const { seen, problem } = useExchanges(farm, filter, watching, useCallback(() => watch(false), []));
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
      {problem && (
        <Alert color="red" role="alert" mx="md" mb="md">
          {t(`trace.${problem}`)}
        </Alert>
      )}
      {seen.length === 0 ? (
        <Text c="dimmed" p="md" pt={0}>
          {t('trace.none')}
        </Text>
      ) : (
        <Wide label={t('tab.trace')} minWidth={960}>
          <Table verticalSpacing={4}>
            <Table.Thead>
              <Table.Tr>
                {['history.when', 'trace.client', 'trace.request', 'trace.status', 'evidence.took', 'trace.way', 'trace.decision', 'trace.happened'].map((w) => (
                  <Table.Th key={w}>{t(w)}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {seen.map((e, i) => (
                <Table.Tr key={seen.length - i}>
                  <Table.Td>{clock(e.time)}</Table.Td>
                  <Table.Td className="text">{e.client}</Table.Td>
                  <Table.Td className="text">
                    {e.method ?? e.type} {e.host ?? e.name}
                    {e.path}
                  </Table.Td>
                  <Table.Td>{e.rcode ?? (e.status || '')}</Table.Td>
                  <Table.Td className="number">{e.rcode ? '' : duration((e.total_us ?? 0) / 1e6)}</Table.Td>
                  <Table.Td className="text">{[e.service, e.backend].filter(Boolean).join(' → ')}</Table.Td>
                  <Table.Td className="text">{e.decision}</Table.Td>
                  <Table.Td className="text">{happened(e)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Card>
  );
}

/** The reason why the stream is silent: the browser reopens it, or the appliance refused it. */
type Trouble = 'lost' | 'refused';

/**
 * The newest exchanges first. Those that arrive together are rendered together. The function refused is called when the
 * appliance ends the stream.
 */
function useExchanges(farm: string, filter: Record<string, string>, on: boolean, refused: () => void): { seen: Exchange[]; problem?: Trouble } {
  const [seen, setSeen] = useState<Exchange[]>([]);
  const [problem, setProblem] = useState<Trouble>();
  useEffect(() => {
    if (!on) return;
    setSeen([]);
    setProblem(undefined);
    const query = new URLSearchParams(Object.entries(filter).filter(([, v]) => v.trim() !== ''));
    const source = new EventSource(`/api/v4.0/farms/${encodeURIComponent(farm)}/trace?${query}`);
    let fresh: Exchange[] = [];
    source.onopen = () => setProblem(undefined);
    source.onmessage = (e: MessageEvent<string>) => {
      if (fresh.push(JSON.parse(e.data) as Exchange) > kept) fresh.shift();
    };
    source.onerror = () => {
      const ended = source.readyState === EventSource.CLOSED;
      setProblem(ended ? 'refused' : 'lost');
      if (ended) refused();
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
  }, [farm, filter, on, refused]);
  return { seen, problem };
}
