import { Badge, Button, Card, Group, Loader, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { endpoint } from '../ui/address';
import { FarmLink } from '../ui/farm-link';
import { bytes, count } from '../ui/numbers';
import { Problem } from '../ui/problem';
import { byUrgency, State } from '../ui/state';
import { Bulk } from './bulk';
import classes from './list.module.css';
import { type Rates, useRates } from './rates';
import type { FarmNumbers } from './types';
import { useFarmState } from './use-state';

const rowHeight = 40;

/** FarmList shows every farm; those that need attention come first. Only visible rows are rendered. */
export function FarmList() {
  const { t } = useTranslation();
  const may = useMay();
  const go = useNavigate();
  const farms = useQuery(queries.farms);
  const { of: rates } = useRates(farms.data?.farms, farms.dataUpdatedAt);
  const stateOf = useFarmState();
  const [text, setText] = useState('');
  const [state, setState] = useState<string | null>(null);
  const [tag, setTag] = useState<string | null>(null);
  const all = farms.data?.farms;
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return (all ?? [])
      .filter((f) => (!state || stateOf(f) === state) && (!tag || f.tags?.includes(tag)) && `${f.farmname} ${f.profile} ${endpoint(f.vip, f.vport)} ${f.comment ?? ''}`.toLowerCase().includes(wanted))
      .sort((a, b) => byUrgency(stateOf(a), stateOf(b)) || a.farmname.localeCompare(b.farmname));
  }, [all, text, state, tag, stateOf]);
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const marked = found.filter((f) => chosen.has(f.farmname)).map((f) => f.farmname);
  const toggle = (names: string[], on: boolean) =>
    choose((before) => {
      const next = new Set(before);
      for (const name of names) if (on) next.add(name); else next.delete(name);
      return next;
    });
  const mark = useCallback((name: string, on: boolean) => toggle([name], on), []);
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: found.length, getScrollElement: () => scroll.current, estimateSize: () => rowHeight, overscan: 12 });
  const tags = [...new Set(all?.flatMap((f) => f.tags ?? []))].sort();
  const states = [...new Set(all?.map(stateOf))].sort(byUrgency);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {t('nav.farms')}
        </Title>
        <Button {...may.button('farm.create')} onClick={() => void go({ to: '/new-farm' })}>
          {t('create.title')}
        </Button>
      </Group>
      <Group>
        <TextInput aria-label={t('farms.search')} placeholder={t('farms.search')} value={text} onChange={(e) => setText(e.currentTarget.value)} />
        <Select
          aria-label={t('farms.state')}
          placeholder={t('farms.state')}
          clearable
          value={state}
          onChange={setState}
          data={states.map((s) => ({ value: s, label: t(`state.${s.replace(' ', '_')}`, { defaultValue: s }) }))}
        />
        {tags.length > 0 && <Select aria-label={t('farms.tag')} placeholder={t('farms.tag')} clearable value={tag} onChange={setTag} data={tags} />}
        <Text size="sm" c="dimmed" role="status">
          {farms.data && t('farms.count', { count: found.length })}
        </Text>
      </Group>
      <Bulk farms={marked} done={() => choose(new Set())} />
      {farms.error && <Problem error={farms.error} again={() => void farms.refetch()} />}
      {farms.isPending && <Loader size="sm" aria-label="…" />}
      {farms.isSuccess && found.length === 0 && <Text c="dimmed">{t(all?.length ? 'farms.no_match' : 'farms.empty')}</Text>}
      {found.length > 0 && (
        <Card withBorder p={0}>
          <div ref={scroll} className="rows" role="table" aria-label={t('nav.farms')} aria-rowcount={found.length + 1} tabIndex={0}>
            <div role="rowgroup">
              <div role="row" className={`${classes.row} ${classes.head}`}>
                <span role="columnheader">
                  <input type="checkbox" aria-label={t('bulk.all')} checked={marked.length === found.length} onChange={(e) => toggle(found.map((f) => f.farmname), e.currentTarget.checked)} />
                </span>
                {['farms.name', 'farms.state', 'farms.address', 'farms.profile'].map((w) => (
                  <span key={w} role="columnheader">
                    {t(w)}
                  </span>
                ))}
                {['farms.requests', 'farms.errors', 'farms.open', 'farms.out'].map((w) => (
                  <span key={w} role="columnheader" className="number">
                    {t(w)}
                  </span>
                ))}
              </div>
            </div>
            <div role="rowgroup" style={{ height: rows.getTotalSize(), position: 'relative' }}>
              {rows.getVirtualItems().map((v) => {
                const f = found[v.index];
                const r = rates.get(f.farmname);
                return <Row key={f.farmname} farm={f} state={stateOf(f)} rate={r} index={v.index} top={v.start} chosen={chosen.has(f.farmname)} choose={mark} />;
              })}
            </div>
          </div>
        </Card>
      )}
    </Stack>
  );
}

type RowProps = { farm: FarmNumbers; state: string; rate?: Rates; index: number; top: number; chosen: boolean; choose: (name: string, on: boolean) => void };

/**
 * Row is a farm in the list. It is rendered again only when its data changes. While the list scrolls, only rows that
 * become visible are rendered.
 */
const Row = memo(function Row({ farm: f, state, rate: r, index, top, chosen, choose }: RowProps) {
  const { t } = useTranslation();
  return (
    <div role="row" aria-rowindex={index + 2} className={classes.row} style={{ position: 'absolute', top, height: rowHeight, left: 0, right: 0 }}>
      <span role="cell">
        <input type="checkbox" aria-label={t('bulk.one', { name: f.farmname })} checked={chosen} onChange={(e) => choose(f.farmname, e.currentTarget.checked)} />
      </span>
      <span role="cell" className={classes.name}>
        <FarmLink farm={f.farmname} />
        {f.tags?.map((one) => (
          <Badge key={one} size="xs" variant="default" tt="none" ml={4}>
            {one}
          </Badge>
        ))}
      </span>
      <span role="cell">
        <State of={state} />
      </span>
      <span role="cell" className="text">
        {endpoint(f.vip, f.vport)}
      </span>
      <span role="cell">{f.profile}</span>
      <span role="cell" className="number">
        {count(r?.requests)}
      </span>
      <span role="cell" className="number">
        {count(r?.errors)}
      </span>
      <span role="cell" className="number">
        {count(f.established)}
      </span>
      <span role="cell" className="number">
        {bytes(f.counters.bytes_out ?? 0)}
      </span>
    </div>
  );
});
