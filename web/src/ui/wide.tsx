import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** Wide lets a table be scrolled where the screen is narrow, with the keyboard too. */
export function Wide({ label, minWidth, children }: { label: string; minWidth: number; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': label } }}>
      {children}
    </Table.ScrollContainer>
  );
}
