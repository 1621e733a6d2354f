import { Badge, Card, Group, List, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { Problem } from '../ui/problem';
import { FarmLink } from '../ui/farm-link';
import { queries } from '../api/queries';
import { darkOrange } from '../ui/theme';

type Item = { key: string; text: string; advice?: string; farm?: string; severity: 'error' | 'warning' };

/** The days before its expiry from which a certificate needs attention. */
const soon = 30;
const shown = 8;

/** Whether the user lacks the permission for a query. */
const isRefused = (error: unknown) => error instanceof Refused && error.status === 403;

/** Attention lists everything that needs action, worst first. */
export function Attention() {
  const { t } = useTranslation();
  const { items, known, partly, failed } = useAttention();
  return (
    <Card withBorder component="section" aria-labelledby="attention">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="attention">
          {t('attention.title')}
        </Title>
        {items.length > 0 && <Badge color={items[0].severity === 'error' ? 'red.9' : darkOrange}>{items.length}</Badge>}
      </Group>
      {failed && <Problem error={failed.error} again={() => void failed.refetch()} />}
      {items.length === 0 && !failed && <Text c="dimmed">{known ? t(partly ? 'attention.none_seen' : 'attention.none') : '…'}</Text>}
      <List size="sm" spacing={6} listStyleType="none">
        {items.slice(0, shown).map((h) => (
          <List.Item key={h.key}>
            {h.farm && (
              <>
                <FarmLink farm={h.farm} />{' '}
              </>
            )}
            <Text span size="sm" className="text">
              {h.text}
            </Text>
            {h.advice && (
              <Text size="xs" c="dimmed" className="text">
                {h.advice}
              </Text>
            )}
          </List.Item>
        ))}
      </List>
      {items.length > shown && (
        <Text size="xs" c="dimmed" mt="xs">
          {t('attention.more', { count: items.length - shown })}
        </Text>
      )}
    </Card>
  );
}

/**
 * The items that need attention and that the user may see. The result is known once the state of the farms is loaded.
 * It is partial if the user lacks permissions for some queries, and failed if some query failed. Every user may see the
 * state of its own farms.
 */
function useAttention() {
  const { t } = useTranslation();
  const farms = useQuery(queries.farms);
  const status = useQuery(queries.status);
  const found = useQuery(queries.findings);
  const held = useQuery(queries.certificates);
  const all = [status, found, held];
  const items: Item[] = [];
  const problems = new Map(status.data?.params.farms?.map((f) => [f.farmname, f.problem]));
  for (const f of farms.data?.farms ?? []) {
    const problem = problems.get(f.farmname);
    if (problem || (f.configured === 'up' && f.status !== 'up')) {
      const word = t(`state.${f.status.replace(' ', '_')}`, { defaultValue: f.status });
      items.push({ key: `farm ${f.farmname}`, farm: f.farmname, text: problem ? `${word}: ${problem}` : word, severity: f.status === 'maintenance' ? 'warning' : 'error' });
    }
  }
  const findings = found.data?.params ?? [];
  const certificates = held.data?.params ?? [];
  for (const c of certificates) {
    if (c.used_by?.length && typeof c.days_left === 'number' && c.days_left <= soon) {
      items.push({ key: `certificate ${c.file}`, text: t('attention.certificate', { file: c.file, count: c.days_left }), severity: c.days_left < 7 ? 'error' : 'warning' });
    }
  }
  for (const [i, f] of findings.entries()) {
    if (f.severity === 'info') continue;
    items.push({ key: `finding ${i}`, farm: f.farm || undefined, text: f.message, advice: f.advice, severity: f.severity === 'error' ? 'error' : 'warning' });
  }
  items.sort((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
  return { items, known: farms.isSuccess && !status.isPending && !found.isPending && !held.isPending, partly: all.some((q) => isRefused(q.error)), failed: all.find((q) => q.error && !isRefused(q.error)) };
}
