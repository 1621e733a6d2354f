import { Badge, Button, Card, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { body, request } from '../api/client';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { done, failed } from '../ui/notify';
import { when } from '../ui/time';
import { people } from './queries';

/** SessionsPage shows the active sessions of all users. */
export function SessionsPage() {
  const { t } = useTranslation();
  return (
    <>
      <Text c="dimmed" size="sm">
        {t('signed_in.about')}
      </Text>
      <SessionList />
    </>
  );
}

/** SessionList shows active sessions, of one user if given, each with a button to end it. */
export function SessionList({ user }: { user?: string }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const sessions = useQuery(people.sessions);
  const end = useMutation({
    mutationFn: async (numbers: number[]) => {
      for (const number of numbers) await body(request('DELETE', ['rbac', 'sessions', number]));
      return numbers.length;
    },
    onSuccess: (count) => done(t('signed_in.ended', { count })),
    onError: failed,
    onSettled: () => client.invalidateQueries({ queryKey: people.sessions.queryKey }),
  });
  return (
    <QueryView of={sessions}>
      {(all) => {
        const rows = all.filter((s) => user === undefined || s.user === user);
        const others = rows.filter((s) => s.own !== 'true').map((s) => s.session);
        return (
          <>
            <Group justify="end">
              <Button size="xs" variant="default" disabled={others.length === 0} loading={end.isPending} onClick={() => end.mutate(others)}>
                {t('signed_in.end_others')}
              </Button>
            </Group>
            <Card withBorder p={0}>
              <DataTable
                label={t('people.sessions')}
                rows={rows}
                id={(s) => String(s.session)}
                empty={t('signed_in.none')}
                columns={[
                  { head: t('user.name'), cell: (s) => s.user },
                  { head: t('signed_in.source'), cell: (s) => s.source },
                  { head: t('signed_in.began'), cell: (s) => when(s.began) },
                  { head: t('signed_in.used'), cell: (s) => when(s.used) },
                ]}
                actions={(s) =>
                  s.own === 'true' ? (
                    <Badge color="gray.8" tt="none" size="sm">
                      {t('signed_in.own')}
                    </Badge>
                  ) : (
                    <Button size="compact-sm" variant="default" aria-label={`${t('signed_in.end')}: ${s.user}, ${s.source}, ${when(s.began)}`} onClick={() => end.mutate([s.session])}>
                      {t('signed_in.end')}
                    </Button>
                  )
                }
              />
            </Card>
          </>
        );
      }}
    </QueryView>
  );
}
