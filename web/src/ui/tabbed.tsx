import { Stack, Tabs, Title } from '@mantine/core';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';

type Props = { title: string; base: string; tabs: readonly string[]; word: (tab: string) => string };

/** Tabbed is a title with the pages below an address, by address suffix; the first one is at the address itself. */
export function Tabbed({ title, base, tabs, word }: Props) {
  const go = useNavigate();
  const at = useRouterState({ select: (s) => s.location.pathname.split(base)[1]?.split('/')[1] || tabs[0] });
  return (
    <Stack>
      <Title order={1} size="h2">
        {title}
      </Title>
      <Tabs value={at} onChange={(to) => void go({ to: to === tabs[0] ? base : `${base}/${to}` })}>
        <Tabs.List>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {word(tab)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Outlet />
    </Stack>
  );
}
