import { Stack, Tabs, Title } from '@mantine/core';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

const tabs = ['overview', 'settings', 'machine', 'aliases', 'backups', 'logs'] as const;

/** SystemLayout is the way to everything about the appliance itself and its machine. */
export function SystemLayout() {
  const { t } = useTranslation();
  const go = useNavigate();
  const at = useRouterState({ select: (s) => s.location.pathname.split('/system')[1]?.split('/')[1] || 'overview' });
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.system')}
      </Title>
      <Tabs value={at} onChange={(to) => void go({ to: to === 'overview' ? '/system' : `/system/${to}` })}>
        <Tabs.List>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {t(`system_tab.${tab}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Outlet />
    </Stack>
  );
}
