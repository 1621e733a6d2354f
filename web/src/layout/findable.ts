import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { body, request } from '../api/client';
import { zoneSegment } from '../api/path';
import { queries } from '../api/queries';
import { action } from '../farms/actions';
import type { Change } from '../change/change';
import { useMay } from '../session/may';
import { useSession } from '../session/session';
import { endpoint } from '../ui/address';
import type { Findable } from './match';
import { pages } from './pages';
import { termsOf } from './terms';

type Tree = { [name: string]: Tree | null };

/** The names of all objects, with the names of their parts. */
const ids = { queryKey: ['ids'], queryFn: async () => ((await body(request('GET', ['ids']))) as { params: Tree }).params };

/** The name in the tree for the service of farms without services. */
const nameless = 'default_service';

/** All possible results, pages first. A change is passed to show. */
export function useFindable(show: (c: Change) => void): Findable[] {
  const { t } = useTranslation();
  const go = useNavigate();
  const may = useMay();
  const { leave } = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  const farms = useQuery(queries.farms).data?.farms;
  const tree = useQuery(ids).data;
  return useMemo(() => {
    const all: Findable[] = pages.map((p) => ({ label: t(p.word), hint: t('palette.page'), terms: termsOf(p.word), run: () => void go({ to: p.to }) }));
    const todo = t('palette.action');
    if (may('farm.create')) all.push({ label: t('palette.new_farm'), hint: todo, terms: termsOf('palette.new_farm'), run: () => void go({ to: '/new-farm' }) });
    all.push({ label: t(dark ? 'nav.light' : 'nav.dark'), hint: todo, run: () => setColorScheme(dark ? 'light' : 'dark') });
    all.push({ label: t('nav.sign_out'), hint: todo, run: leave });
    for (const f of farms ?? []) {
      all.push({ label: f.farmname, hint: `${f.profile} ${endpoint(f.vip, f.vport)}`, run: () => void go({ to: '/farms/$farm', params: { farm: f.farmname } }) });
    }
    for (const [farm, has] of Object.entries(tree?.farms ?? {})) {
      for (const service of Object.keys(has?.services ?? {})) {
        if (service !== nameless) all.push({ label: service, hint: t('palette.service', { farm }), run: () => void go({ to: '/farms/$farm/services/$service', params: { farm, service } }) });
      }
      for (const zone of Object.keys(has?.zones ?? {})) all.push({ label: zone, hint: t('palette.zone', { farm }), run: () => void go({ to: '/farms/$farm/zones/$zone', params: { farm, zone: zoneSegment(zone) } }) });
    }
    for (const check of Object.keys(tree?.farmguardians ?? {})) all.push({ label: check, hint: t('nav.checks'), run: () => void go({ to: '/checks/$check', params: { check } }) });
    for (const file of Object.keys(tree?.certificates ?? {})) all.push({ label: file, hint: t('nav.certificates'), run: () => void go({ to: '/certificates' }) });
    if (may('farm.action')) {
      for (const f of farms ?? []) {
        for (const verb of f.configured === 'up' ? (['stop', 'restart'] as const) : (['start'] as const)) {
          const label = t(`palette.${verb}`, { farm: f.farmname });
          all.push({ label, hint: todo, run: () => show(action(f.farmname, verb, label)) });
        }
      }
    }
    return all;
  }, [t, go, may, leave, setColorScheme, dark, farms, tree, show]);
}
