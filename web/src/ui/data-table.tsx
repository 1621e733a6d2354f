import { Group, Table, Text } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Wide } from './wide';

export type Column<Row> = { head: string; cell: (row: Row) => ReactNode; number?: boolean };
type Props<Row> = { label: string; rows: Row[]; id: (row: Row) => string; columns: Column<Row>[]; actions?: (row: Row) => ReactNode; empty: string; minWidth?: number };

/** The number of rows from which only rows near the visible area are rendered. */
const few = 100;

/** DataTable is a table with a head. If it is empty, it suggests the next step. */
export function DataTable<Row>({ label, rows, id, columns, actions, empty, minWidth = 640 }: Props<Row>) {
  const { t } = useTranslation();
  const { body, drawn, above, below, measure } = useNear(rows.length);
  if (rows.length === 0) {
    return (
      <Text c="dimmed" p="md">
        {empty}
      </Text>
    );
  }
  return (
    <Wide label={label} minWidth={minWidth}>
      <Table verticalSpacing="xs" highlightOnHover aria-rowcount={rows.length + 1}>
        <Table.Thead>
          <Table.Tr aria-rowindex={1}>
            {columns.map((c) => (
              <Table.Th key={c.head} ta={c.number ? 'right' : undefined}>
                {c.head}
              </Table.Th>
            ))}
            {actions && (
              <Table.Th>
                <Text span fz={0}>
                  {t('history.actions')}
                </Text>
              </Table.Th>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody ref={body}>
          <Gap height={above} />
          {drawn.map((index) => {
            const r = rows[index];
            return (
              <Table.Tr key={id(r)} ref={measure} data-index={index} aria-rowindex={index + 2}>
                {columns.map((c) => (
                  <Table.Td key={c.head} className={c.number ? 'number' : 'text'}>
                    {c.cell(r)}
                  </Table.Td>
                ))}
                {actions && (
                  <Table.Td>
                    <Group gap={4} justify="flex-end" wrap="nowrap">
                      {actions(r)}
                    </Group>
                  </Table.Td>
                )}
              </Table.Tr>
            );
          })}
          <Gap height={below} />
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

/** Gap replaces rows that are not rendered, so that the page keeps its height. */
function Gap({ height }: { height: number }) {
  return height > 0 ? <tr aria-hidden style={{ height }} /> : null;
}

/** useNear returns which of many rows are rendered while the window scrolls, and the heights above and below them. */
function useNear(count: number) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  const enabled = count > few;
  // On every render, because content above it, e.g. another table, may have grown.
  useLayoutEffect(() => {
    if (enabled && body.current) setTop(Math.round(body.current.getBoundingClientRect().top + window.scrollY));
  });
  const near = useWindowVirtualizer({ count, enabled, estimateSize: () => 41, overscan: 20, scrollMargin: top });
  if (!enabled) return { body, drawn: [...Array(count).keys()], above: 0, below: 0, measure: undefined };
  const items = near.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  return {
    body,
    drawn: items.map((i) => i.index),
    above: first ? first.start - top : 0,
    below: last ? near.getTotalSize() - (last.end - top) : near.getTotalSize(),
    measure: near.measureElement,
  };
}
