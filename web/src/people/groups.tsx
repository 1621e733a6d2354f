import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { quoted, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { GroupCard } from './group-card';
import { NameForm } from './name-form';
import { people } from './queries';
import { steps } from './steps';

/** GroupsPage shows which users may access which farms, with which role. */
export function GroupsPage() {
  const { t } = useTranslation();
  const may = useMay();
  const groups = useQuery(people.groups);
  const users = useQuery(people.users).data;
  const roles = useQuery(people.roles).data;
  const farms = useQuery(queries.farms).data?.farms;
  const [creating, create] = useState(false);
  const [change, setChange] = useState<Change>();
  const free = (users ?? []).filter((u) => !u.group && may.allFarms).map((u) => u.name); // other users may not add users
  return (
    <>
      <Group justify="space-between">
        <Text c="dimmed" size="sm" flex="1 1 16rem">
          {t('group.about')}
        </Text>
        <Button size="xs" {...may.button('rbac-group.create')} onClick={() => create(true)}>
          {t('group.add')}
        </Button>
      </Group>
      <QueryView of={groups}>
        {(all) => (
          <Stack>
            {all.length === 0 && <Text c="dimmed">{t('group.none')}</Text>}
            {all.map((g) => (
              <GroupCard key={g.name} group={g} free={free} roles={(roles ?? []).map((r) => r.name)} farms={(farms ?? []).map((f) => f.farmname)} ask={setChange} />
            ))}
          </Stack>
        )}
      </QueryView>
      {creating && (
        <NameForm
          title={t('group.add')}
          path="/rbac/groups"
          close={() => create(false)}
          change={(body) => steps(t('group.create', { name: String(body.name ?? '') }), [{ command: `sluice group create ${quoted(String(body.name ?? ''))}`, method: 'POST', parts: ['rbac', 'groups'], sent: body }], `+ group: ${String(body.name ?? '')}`)}
        />
      )}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </>
  );
}
