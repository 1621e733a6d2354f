import { Badge, Card } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { FarmNumbers } from '../api/types';
import { endpoint } from '../ui/address';
import { FarmLink } from '../ui/farm-link';
import { bytes, count } from '../ui/numbers';
import { State } from '../ui/state';
import classes from './list.module.css';
import type { Rates } from './rates';

const rowHeight = 40;

type Props = {
  farms: FarmNumbers[];
  rates: ReadonlyMap<string, Rates>;
  stateOf: (f: FarmNumbers) => string;
  chosen: ReadonlySet<string>;
  /** Chooses farms by name, or no longer chooses them. */
  choose: (names: string[], on: boolean) => void;
};

/** FarmTable is a table of many farms. Only visible rows are rendered. */
export function FarmTable({ farms, rates, stateOf, chosen, choose }: Props) {
  const { t } = useTranslation();
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: farms.length, getScrollElement: () => scroll.current, estimateSize: () => rowHeight, overscan: 12 });
  const chooseOne = useCallback((name: string, on: boolean) => choose([name], on), [choose]);
  return (
    <Card withBorder p={0}>
      <div ref={scroll} className="rows" role="table" aria-label={t('nav.farms')} aria-rowcount={farms.length + 1} tabIndex={0}>
        <div role="rowgroup">
          <div role="row" className={`${classes.row} ${classes.head}`}>
            <span role="columnheader">
              <input type="checkbox" aria-label={t('bulk.all')} checked={farms.every((f) => chosen.has(f.farmname))} onChange={(e) => choose(farms.map((f) => f.farmname), e.currentTarget.checked)} />
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
            const f = farms[v.index];
            return <Row key={f.farmname} farm={f} state={stateOf(f)} rate={rates.get(f.farmname)} index={v.index} top={v.start} chosen={chosen.has(f.farmname)} choose={chooseOne} />;
          })}
        </div>
      </div>
    </Card>
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
