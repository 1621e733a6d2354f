import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** Wide makes a table scrollable on narrow screens, also by keyboard. */
export function Wide({ label, minWidth, children }: { label: string; minWidth: number; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': label } }}>
      {children}
    </Table.ScrollContainer>
  );
}
