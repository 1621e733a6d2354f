import { Button, Card, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { people, type User } from './queries';
import { removal } from './steps';
import { UserForm } from './user-form';

/** UsersPage lists the users and their rights. */
export function UsersPage() {
  const { t } = useTranslation();
  const may = useMay();
  const users = useQuery(people.users);
  const [edited, edit] = useState<string>(); // its name; '' for a new one
  const [change, setChange] = useState<Change>();
  const editedUser = users.data?.find((u) => u.name === edited); // the current one, including changes by others
  const remove = (u: User) => setChange(removal(t('user.delete', { name: u.name }), `sluice user delete ${u.name}`, ['rbac', 'users', u.name], `user: ${u.name}`));
  const reset = (u: User) => setChange(removal(t('user.reset', { name: u.name }), `sluice user totp reset ${u.name}`, ['rbac', 'users', u.name, 'totp'], `${t('user.second')}: ${u.name}`));
  return (
    <>
      <Group justify="end">
        <Button size="xs" {...may.button('rbac-user.create')} onClick={() => edit('')}>
          {t('user.add')}
        </Button>
      </Group>
      <QueryView of={users}>
        {(all) => (
          <Card withBorder p={0}>
            <DataTable
              label={t('people.users')}
              rows={all}
              id={(u) => u.name}
              empty={t('user.none')}
              columns={[
                { head: t('user.name'), cell: (u) => u.name },
                { head: t('user.service'), cell: (u) => t(`service.${u.service}`) },
                { head: t('user.web'), cell: (u) => <YesNo is={u.webgui_permissions} /> },
                { head: t('user.api'), cell: (u) => <YesNo is={u.zapi_permissions} /> },
                { head: t('user.group'), cell: (u) => u.group || t('user.no_group') },
                { head: t('user.second'), cell: (u) => <YesNo is={u.totp} /> },
              ]}
              actions={(u) => (
                <>
                  <Button size="compact-sm" variant="default" {...may.button('rbac-user.modify')} aria-label={`${t('form.edit')} ${u.name}`} onClick={() => edit(u.name)}>
                    {t('form.edit')}
                  </Button>
                  {u.totp === 'true' && (
                    <Button size="compact-sm" variant="default" {...may.button('rbac-user.modify')} aria-label={`${t('user.reset_short')}: ${u.name}`} onClick={() => reset(u)}>
                      {t('user.reset_short')}
                    </Button>
                  )}
                  <Button size="compact-sm" variant="default" {...may.button('rbac-user.delete')} aria-label={`${t('form.delete')} ${u.name}`} onClick={() => remove(u)}>
                    {t('form.delete')}
                  </Button>
                </>
              )}
            />
          </Card>
        )}
      </QueryView>
      {(edited === '' || editedUser) && <UserForm user={editedUser} close={() => edit(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </>
  );
}

function YesNo({ is }: { is: string }) {
  const { t } = useTranslation();
  return (
    <Text span size="sm" c={is === 'true' ? undefined : 'dimmed'}>
      {t(is === 'true' ? 'people.yes' : 'people.no')}
    </Text>
  );
}
