import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { Layout } from './layout/layout';
import { Dashboard } from './dashboard/dashboard';

const root = createRootRoute({ component: Layout });

const routes = [
  createRoute({ getParentRoute: () => root, path: '/', component: Dashboard }),
  createRoute({ getParentRoute: () => root, path: '/farms', component: lazyRouteComponent(() => import('./farms/list'), 'FarmList') }),
  createRoute({ getParentRoute: () => root, path: '/farms/$farm', component: lazyRouteComponent(() => import('./farms/farm'), 'FarmPage') }),
  createRoute({ getParentRoute: () => root, path: '/timeline', component: lazyRouteComponent(() => import('./timeline/timeline'), 'TimelinePage') }),
  createRoute({ getParentRoute: () => root, path: '/history', component: lazyRouteComponent(() => import('./history/history'), 'HistoryPage') }),
] as const;

export const router = createRouter({ routeTree: root.addChildren(routes), basepath: '/gui', defaultPreload: 'intent' });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
