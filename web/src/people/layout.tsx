import { Stack, Tabs, Title } from '@mantine/core';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

/** The pages about people, by what their addresses end with. */
const tabs = ['users', 'groups', 'roles', 'keys', 'sessions'] as const;

/** PeopleLayout is what all pages about people have: who may use the appliance, and for what. */
export function PeopleLayout() {
  const { t } = useTranslation();
  const go = useNavigate();
  const at = useRouterState({ select: (s) => s.location.pathname.split('/people')[1]?.split('/')[1] || 'users' });
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.people')}
      </Title>
      <Tabs value={at} onChange={(to) => void go({ to: to === 'users' ? '/people' : `/people/${to}` })}>
        <Tabs.List>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {t(`people.${tab}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Outlet />
    </Stack>
  );
}
