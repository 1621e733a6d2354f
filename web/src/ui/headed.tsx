import { Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Headed is a page that has nothing but its heading and what stands in place of its content. */
export function Headed({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack>
      <Title order={1} size="h2" className="text">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
