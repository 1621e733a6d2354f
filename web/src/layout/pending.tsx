import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { useSession } from '../session/session';
import { failed } from '../ui/notify';

/** PendingBar counts down until a change that wants to be confirmed goes back by itself. */
export function PendingBar() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const change = useQuery(queries.pending).data?.params;
  const { user } = useSession();
  const all = useMay();
  const may = all('history.rollback') || change?.author === user;
  const left = useCountdown(change?.until);
  const settled = () => client.invalidateQueries();
  const keep = useMutation({
    mutationFn: (revision: string) => body(api.POST('/history/{revision}/confirm', { params: { path: { revision } } })),
    onSuccess: settled,
    onError: failed,
  });
  const back = useMutation({ mutationFn: () => body(api.DELETE('/pending')), onSuccess: settled, onError: failed });
  if (change?.pending !== 'true' || !change.revision) return null;
  return (
    <Alert color="yellow" mb="md" title={t('pending.title', { revision: change.revision })} role="status">
      <Group justify="space-between">
        <Text size="sm">{t('pending.left', { count: left })}</Text>
        <Group gap="xs">
          <Button size="xs" disabled={!may} loading={keep.isPending} onClick={() => keep.mutate(String(change.revision))}>
            {t('pending.keep')}
          </Button>
          <Button size="xs" variant="default" disabled={!may} loading={back.isPending} onClick={() => back.mutate()}>
            {t('pending.back')}
          </Button>
        </Group>
      </Group>
    </Alert>
  );
}

/** Whole seconds until a time. */
function useCountdown(until: string | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!until) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return until ? Math.max(0, Math.ceil((Date.parse(until) - now) / 1000)) : 0;
}
