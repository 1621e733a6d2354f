import { ActionIcon, AppShell, Burger, Button, Group, Image, Menu, NavLink, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../session/session';
import type { Change } from '../change/change';
import { changeLanguage, languages, loadPageTexts, type Language } from '../i18n/i18n';
import { Boundary } from '../ui/boundary';
import { lazyComponent } from '../ui/lazy-component';
import { failed } from '../ui/notify';
import { pages } from './pages';
import { PendingBar } from './pending';

const Palette = lazyComponent(async () => (await Promise.all([import('./palette'), loadPageTexts()]))[0].default);
const ChangeDialog = lazyComponent(async () => (await import('../change/dialog')).ChangeDialog);

/** Layout is the frame of every page. */
export function Layout() {
  const { t } = useTranslation();
  const [menu, { toggle, close }] = useDisclosure(false);
  const [search, { open, close: shut }] = useDisclosure(false);
  const [change, setChange] = useState<Change>();
  const path = useRouterState({ select: (s) => s.location.pathname });
  useHotkeys([['mod+K', open]], []);
  return (
    <>
    <a className="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById('main')?.focus())}>
      {t('nav.skip')}
    </a>
    <AppShell header={{ height: 56 }} navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !menu } }} padding="md">
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={menu} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t('nav.menu')} />
            <Image src="/gui/icon.svg" alt="" w={26} h={26} />
            <Text fw={700} visibleFrom="xs">
              Sluice
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Button visibleFrom="xs" variant="default" size="xs" onClick={open} aria-keyshortcuts="Control+K">
              {t('palette.open')}
            </Button>
            <ActionIcon hiddenFrom="xs" variant="default" size="md" onClick={open} aria-label={t('palette.open')}>
              <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden>
                <circle cx="7" cy="7" r="4.6" fill="none" stroke="currentColor" strokeWidth="1.4" />
                <path d="M10.5 10.5 14 14" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" />
              </svg>
            </ActionIcon>
            <Scheme />
            <Languages />
            <Person />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('nav.pages')} style={{ overflowY: 'auto' }}>
        {pages.map((p) => (
          <NavLink
            key={p.to}
            component={Link}
            to={p.to}
            label={t(p.word)}
            onClick={close}
            active={p.to === '/' ? path === '/gui' || path === '/gui/' || path === '/' : path.replace('/gui', '').startsWith(p.to)}
            variant="filled"
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <Boundary>
          <PendingBar />
        </Boundary>
        <Outlet />
      </AppShell.Main>
      <Boundary>
        {search && <Palette opened close={shut} show={setChange} />}
        {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
      </Boundary>
    </AppShell>
    </>
  );
}

/** Scheme switches between dark and light. */
function Scheme() {
  const { t } = useTranslation();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  return (
    <ActionIcon variant="default" size="md" aria-label={t(dark ? 'nav.light' : 'nav.dark')} onClick={() => setColorScheme(dark ? 'light' : 'dark')}>
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden>
        <path d="M8 1a7 7 0 1 0 0 14z" fill="currentColor" />
        <circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" strokeWidth="1.2" />
      </svg>
    </ActionIcon>
  );
}

function Languages() {
  const { i18n, t } = useTranslation();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="xs" aria-label={`${i18n.language.toUpperCase()}: ${t('nav.language')}`}>
          {i18n.language.toUpperCase()}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(languages).map(([code, name]) => (
          <Menu.Item key={code} lang={code} onClick={() => void changeLanguage(code as Language).catch(failed)}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Person() {
  const { t } = useTranslation();
  const { user, host, version, leave } = useSession();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="xs" maw={140}>
          <Text span inherit truncate="end">
            {user}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {host} · Sluice {version}
        </Menu.Label>
        <Menu.Item component={Link} to="/account">
          {t('nav.account')}
        </Menu.Item>
        <Menu.Item onClick={leave}>{t('nav.sign_out')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
