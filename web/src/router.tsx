import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { Layout } from './layout/layout';
import { loadPageTexts } from './i18n/i18n';
import { Dashboard } from './dashboard/dashboard';

const root = createRootRoute({ component: Layout });

/** A page that is loaded when somebody goes there, with its texts. */
const lazily: typeof lazyRouteComponent = (page, name) => lazyRouteComponent(async () => (await Promise.all([page(), loadPageTexts()]))[0], name);

const farm = createRoute({ getParentRoute: () => root, path: '/farms/$farm', component: lazily(() => import('./farms/layout'), 'FarmLayout') });
const farmPages = [
  createRoute({ getParentRoute: () => farm, path: '/', component: lazily(() => import('./farms/overview'), 'FarmOverview') }),
  createRoute({ getParentRoute: () => farm, path: '/services', component: lazily(() => import('./farms/services'), 'FarmServices') }),
  createRoute({ getParentRoute: () => farm, path: '/services/$service', component: lazily(() => import('./farms/service'), 'ServicePage') }),
  createRoute({ getParentRoute: () => farm, path: '/settings', component: lazily(() => import('./farms/settings'), 'FarmSettings') }),
  createRoute({ getParentRoute: () => farm, path: '/sessions', component: lazily(() => import('./farms/sessions'), 'FarmSessions') }),
  createRoute({ getParentRoute: () => farm, path: '/trace', component: lazily(() => import('./farms/trace'), 'FarmTrace') }),
] as const;

const people = createRoute({ getParentRoute: () => root, path: '/people', component: lazily(() => import('./people/layout'), 'PeopleLayout') });
const peoplePages = [
  createRoute({ getParentRoute: () => people, path: '/', component: lazily(() => import('./people/users'), 'UsersPage') }),
  createRoute({ getParentRoute: () => people, path: '/groups', component: lazily(() => import('./people/groups'), 'GroupsPage') }),
  createRoute({ getParentRoute: () => people, path: '/roles', component: lazily(() => import('./people/roles'), 'RolesPage') }),
  createRoute({ getParentRoute: () => people, path: '/roles/$role', component: lazily(() => import('./people/role'), 'RolePage') }),
  createRoute({ getParentRoute: () => people, path: '/keys', component: lazily(() => import('./people/keys'), 'KeysPage') }),
  createRoute({ getParentRoute: () => people, path: '/sessions', component: lazily(() => import('./people/sessions'), 'SessionsPage') }),
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
] as const;

export const router = createRouter({ routeTree: root.addChildren(pages), basepath: '/gui', defaultPreload: 'intent' });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
