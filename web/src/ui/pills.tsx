import { Tabs } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';

type Props = { base: string; at: string; tabs: readonly string[]; word: (tab: string) => string };

/** Pills is the navigation among the sections of a page, each with its own address. */
export function Pills({ base, at, tabs, word }: Props) {
  const go = useNavigate();
  return (
    <Tabs variant="pills" value={at} onChange={(to) => void go({ to: `${base}/${to}` })}>
      <Tabs.List>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab} value={tab}>
            {word(tab)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
    </Tabs>
  );
}
