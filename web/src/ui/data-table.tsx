import { Group, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Wide } from './wide';

export type Column<Row> = { head: string; cell: (row: Row) => ReactNode; number?: boolean };
type Props<Row> = { label: string; rows: Row[]; id: (row: Row) => string; columns: Column<Row>[]; actions?: (row: Row) => ReactNode; empty: string; minWidth?: number };

/** DataTable is rows with a head; where there are none it says what to do next. */
export function DataTable<Row>({ label, rows, id, columns, actions, empty, minWidth = 640 }: Props<Row>) {
  const { t } = useTranslation();
  if (rows.length === 0) {
    return (
      <Text c="dimmed" p="md">
        {empty}
      </Text>
    );
  }
  return (
    <Wide label={label} minWidth={minWidth}>
      <Table verticalSpacing="xs" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
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
        <Table.Tbody>
          {rows.map((r) => (
            <Table.Tr key={id(r)}>
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
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
