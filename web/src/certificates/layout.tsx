import { Stack, Tabs, Title } from '@mantine/core';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

const tabs = ['list', 'authorities', 'orders', 'ocsp'] as const;

/** CertificatesLayout is the way to certificates, authorities, orders, and OCSP. */
export function CertificatesLayout() {
  const { t } = useTranslation();
  const go = useNavigate();
  const at = useRouterState({ select: (s) => s.location.pathname.split('/certificates')[1]?.split('/')[1] || 'list' });
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.certificates')}
      </Title>
      <Tabs value={at} onChange={(to) => void go({ to: to === 'list' ? '/certificates' : `/certificates/${to}` })}>
        <Tabs.List>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {t(`certificates_tab.${tab}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Outlet />
    </Stack>
  );
}
