import { Button, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { Problem } from '../ui/problem';
import { byUrgency } from '../ui/state';
import { Bulk } from './bulk';
import { filtered, type Filter } from './filter';
import { FarmTable } from './list-table';
import { Toolbar } from './list-toolbar';
import { useRates } from './rates';
import { useFarmState } from './use-state';

/** FarmList shows every farm, with a filter and actions for several farms. */
export function FarmList() {
  const { t } = useTranslation();
  const may = useMay();
  const go = useNavigate();
  const farms = useQuery(queries.farms);
  const { of: rates } = useRates(farms.data?.farms, farms.dataUpdatedAt);
  const stateOf = useFarmState();
  const [filter, setFilter] = useState<Filter>({ text: '', state: null, tag: null });
  const all = farms.data?.farms;
  const found = useMemo(() => filtered(all ?? [], filter, stateOf), [all, filter, stateOf]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = useCallback((names: string[], on: boolean) => setChosen((before) => withNames(before, names, on)), []);
  const tags = [...new Set(all?.flatMap((f) => f.tags ?? []))].sort();
  const states = [...new Set(all?.map(stateOf))].sort(byUrgency);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {t('nav.farms')}
        </Title>
        <Button {...may.button('farm.create')} onClick={() => void go({ to: '/new-farm' })}>
          {t('create.title')}
        </Button>
      </Group>
      <Toolbar filter={filter} set={setFilter} states={states} tags={tags} count={farms.data && found.length} />
      <Bulk farms={found.filter((f) => chosen.has(f.farmname)).map((f) => f.farmname)} done={() => setChosen(new Set())} />
      {farms.error && <Problem error={farms.error} again={() => void farms.refetch()} />}
      {farms.isPending && <Loader size="sm" aria-label="…" />}
      {farms.isSuccess && found.length === 0 && <Text c="dimmed">{t(all?.length ? 'farms.no_match' : 'farms.empty')}</Text>}
      {found.length > 0 && <FarmTable farms={found} rates={rates} stateOf={stateOf} chosen={chosen} choose={choose} />}
    </Stack>
  );
}

/** The chosen names, with or without the given ones. */
function withNames(chosen: ReadonlySet<string>, names: string[], on: boolean): ReadonlySet<string> {
  const next = new Set(chosen);
  for (const name of names) if (on) next.add(name); else next.delete(name);
  return next;
}
