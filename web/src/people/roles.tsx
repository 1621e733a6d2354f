import { Anchor, Badge, Button, Card, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { quoted, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { people } from './queries';
import { NewRole } from './new-role';
import { removal } from './steps';

/** RolesPage lists the roles with their groups, and links to their permissions. */
export function RolesPage() {
  const { t } = useTranslation();
  const go = useNavigate();
  const may = useMay();
  const roles = useQuery(people.roles);
  const groups = useQuery(people.groups).data;
  const [copied, copy] = useState<string>();
  const [change, setChange] = useState<Change>();
  const usedBy = (role: string) => (groups ?? []).filter((g) => g.role === role).map((g) => g.name);
  return (
    <>
      <Group justify="space-between">
        <Text c="dimmed" size="sm" flex="1 1 16rem">
          {t('role.about')}
        </Text>
        <Button size="xs" {...may.button('rbac-role.create')} onClick={() => copy('')}>
          {t('role.add')}
        </Button>
      </Group>
      <QueryView of={roles}>
        {(all) => (
          <Card withBorder p={0}>
            <DataTable
              label={t('people.roles')}
              rows={all}
              id={(r) => r.name}
              empty={t('role.none')}
              minWidth={520}
              columns={[
                {
                  head: t('group.role'),
                  cell: (r) => (
                    <Anchor size="sm" fw={600} renderRoot={(props) => <Link to="/people/roles/$role" params={{ role: r.name }} {...props} />}>
                      {r.name}
                    </Anchor>
                  ),
                },
                {
                  head: t('role.origin'),
                  cell: (r) => (
                    <Badge color="gray.8" tt="none" size="sm">
                      {t(r.predefined === 'true' ? 'role.predefined' : 'role.own')}
                    </Badge>
                  ),
                },
                { head: t('people.groups'), cell: (r) => usedBy(r.name).join(', ') || t('form.none') },
              ]}
              actions={(r) => (
                <>
                  <Button size="compact-sm" variant="default" {...may.button('rbac-role.create')} aria-label={`${t('role.copy')}: ${r.name}`} onClick={() => copy(r.name)}>
                    {t('role.copy')}
                  </Button>
                  <Button
                    size="compact-sm"
                    variant="default"
                    {...may.button('rbac-role.delete', r.predefined === 'true')}
                    aria-label={`${t('form.delete')} ${r.name}`}
                    onClick={() => setChange(removal(t('role.delete', { name: r.name }), `sluice role delete ${quoted(r.name)}`, ['rbac', 'roles', r.name], `role: ${r.name}`))}
                  >
                    {t('form.delete')}
                  </Button>
                </>
              )}
            />
          </Card>
        )}
      </QueryView>
      {copied !== undefined && <NewRole of={copied} close={() => copy(undefined)} done={(role) => void go({ to: '/people/roles/$role', params: { role } })} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </>
  );
}
