import { Loader } from '@mantine/core';
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { Layout } from './layout/layout';
import { RouteFailed } from './layout/route-failed';
import { loadPageTexts } from './i18n/i18n';
import { Dashboard } from './dashboard/dashboard';
import { lazyComponent } from './ui/lazy-component';
import { NoSuchPage } from './ui/no-such-page';

const root = createRootRoute({ component: Layout });

/** A page that is loaded on demand, with its texts. */
const lazily = <M extends Record<K, ComponentType>, K extends string>(page: () => Promise<M>, name: K) => lazyComponent(async () => (await Promise.all([page(), loadPageTexts()]))[0][name], <Loader size="sm" aria-label="…" />);

const farm = createRoute({ getParentRoute: () => root, path: '/farms/$farm', component: lazily(() => import('./farms/layout'), 'FarmLayout') });
const farmPages = [
  createRoute({ getParentRoute: () => farm, path: '/', component: lazily(() => import('./farms/overview'), 'FarmOverview') }),
  createRoute({ getParentRoute: () => farm, path: '/services', component: lazily(() => import('./farms/services'), 'FarmServices') }),
  createRoute({ getParentRoute: () => farm, path: '/services/$service', component: lazily(() => import('./farms/service'), 'ServicePage') }),
  createRoute({ getParentRoute: () => farm, path: '/zones', component: lazily(() => import('./zones/list'), 'ZoneList') }),
  createRoute({ getParentRoute: () => farm, path: '/zones/$zone', component: lazily(() => import('./zones/zone'), 'ZonePage') }),
  createRoute({ getParentRoute: () => farm, path: '/settings', component: lazily(() => import('./farms/settings'), 'FarmSettings') }),
  createRoute({ getParentRoute: () => farm, path: '/sessions', component: lazily(() => import('./farms/sessions'), 'FarmSessions') }),
  createRoute({ getParentRoute: () => farm, path: '/log', component: lazily(() => import('./farms/log'), 'FarmLog') }),
  createRoute({ getParentRoute: () => farm, path: '/trace', component: lazily(() => import('./farms/trace'), 'FarmTrace') }),
] as const;

const people = createRoute({ getParentRoute: () => root, path: '/people', component: lazily(() => import('./people/layout'), 'PeopleLayout') });
const signing = lazily(() => import('./people/signing'), 'SigningPage');
const peoplePages = [
  createRoute({ getParentRoute: () => people, path: '/', component: lazily(() => import('./people/users'), 'UsersPage') }),
  createRoute({ getParentRoute: () => people, path: '/groups', component: lazily(() => import('./people/groups'), 'GroupsPage') }),
  createRoute({ getParentRoute: () => people, path: '/roles', component: lazily(() => import('./people/roles'), 'RolesPage') }),
  createRoute({ getParentRoute: () => people, path: '/roles/$role', component: lazily(() => import('./people/role'), 'RolePage') }),
  createRoute({ getParentRoute: () => people, path: '/keys', component: lazily(() => import('./people/keys'), 'KeysPage') }),
  createRoute({ getParentRoute: () => people, path: '/sessions', component: lazily(() => import('./people/sessions'), 'SessionsPage') }),
  createRoute({ getParentRoute: () => people, path: '/signing', component: signing }),
  createRoute({ getParentRoute: () => people, path: '/signing/$source', component: signing }),
] as const;

const certificates = createRoute({ getParentRoute: () => root, path: '/certificates', component: lazily(() => import('./certificates/layout'), 'CertificatesLayout') });
const certificatePages = [
  createRoute({ getParentRoute: () => certificates, path: '/', component: lazily(() => import('./certificates/list'), 'CertificateList') }),
  createRoute({ getParentRoute: () => certificates, path: '/authorities', component: lazily(() => import('./certificates/authorities'), 'Authorities') }),
  createRoute({ getParentRoute: () => certificates, path: '/orders', component: lazily(() => import('./certificates/orders'), 'Orders') }),
  createRoute({ getParentRoute: () => certificates, path: '/ocsp', component: lazily(() => import('./certificates/ocsp'), 'OCSPSettings') }),
] as const;

const system = createRoute({ getParentRoute: () => root, path: '/system', component: lazily(() => import('./system/layout'), 'SystemLayout') });
const machine = lazily(() => import('./system/machine'), 'MachineSettings');
const systemPages = [
  createRoute({ getParentRoute: () => system, path: '/', component: lazily(() => import('./system/overview'), 'SystemOverview') }),
  createRoute({ getParentRoute: () => system, path: '/settings', component: lazily(() => import('./system/global'), 'SystemSettings') }),
  createRoute({ getParentRoute: () => system, path: '/machine', component: machine }),
  createRoute({ getParentRoute: () => system, path: '/machine/$section', component: machine }),
  createRoute({ getParentRoute: () => system, path: '/aliases', component: lazily(() => import('./system/aliases'), 'Aliases') }),
  createRoute({ getParentRoute: () => system, path: '/geoip', component: lazily(() => import('./system/geoip'), 'Geoip') }),
  createRoute({ getParentRoute: () => system, path: '/backups', component: lazily(() => import('./system/backups'), 'Backups') }),
  createRoute({ getParentRoute: () => system, path: '/logs', component: lazily(() => import('./system/logs'), 'Logs') }),
] as const;

const pages = [
  createRoute({ getParentRoute: () => root, path: '/', component: Dashboard }),
  createRoute({ getParentRoute: () => root, path: '/farms', component: lazily(() => import('./farms/list'), 'FarmList') }),
  createRoute({ getParentRoute: () => root, path: '/new-farm', component: lazily(() => import('./farms/create'), 'CreateFarm') }),
  farm.addChildren(farmPages),
  createRoute({ getParentRoute: () => root, path: '/findings', component: lazily(() => import('./findings/findings'), 'FindingsPage') }),
  createRoute({ getParentRoute: () => root, path: '/headroom', component: lazily(() => import('./headroom/page'), 'HeadroomPage') }),
  createRoute({ getParentRoute: () => root, path: '/timeline', component: lazily(() => import('./timeline/timeline'), 'TimelinePage') }),
  createRoute({ getParentRoute: () => root, path: '/history', component: lazily(() => import('./history/history'), 'HistoryPage') }),
  people.addChildren(peoplePages),
  createRoute({ getParentRoute: () => root, path: '/account', component: lazily(() => import('./people/account'), 'AccountPage') }),
  createRoute({ getParentRoute: () => root, path: '/notifications', component: lazily(() => import('./notifications/page'), 'NotificationsPage') }),
  createRoute({ getParentRoute: () => root, path: '/audit', component: lazily(() => import('./people/audit'), 'AuditPage') }),
  createRoute({ getParentRoute: () => root, path: '/checks', component: lazily(() => import('./checks/list'), 'ChecksPage') }),
  createRoute({ getParentRoute: () => root, path: '/checks/$check', component: lazily(() => import('./checks/check'), 'CheckPage') }),
  certificates.addChildren(certificatePages),
  system.addChildren(systemPages),
  createRoute({ getParentRoute: () => root, path: '/apidocs', component: lazily(() => import('./apidocs/list'), 'OperationList') }),
  createRoute({ getParentRoute: () => root, path: '/apidocs/$operation', component: lazily(() => import('./apidocs/operation'), 'OperationPage') }),
] as const;

export const router = createRouter({ routeTree: root.addChildren(pages), basepath: '/gui', defaultPreload: 'intent', defaultErrorComponent: RouteFailed, defaultNotFoundComponent: NoSuchPage });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
