import { Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** TitledPage is a page with just a heading and a replacement for its content. */
export function TitledPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack>
      <Title order={1} size="h2" className="text">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
