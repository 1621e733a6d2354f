import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body, Refused } from '../api/client';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { useSession } from '../session/session';
import { failed } from '../ui/notify';
import { when } from '../ui/time';
import { outlook, reverted, type Pending } from './outlook';

/** PendingBar shows the change on trial and its outcome, and why the last one was reverted. */
export function PendingBar() {
  const pending = useQuery(queries.pending);
  const change = pending.data?.params;
  return (
    <>
      {pending.error instanceof Refused && pending.error.status === 0 && <Lost since={pending.dataUpdatedAt} />}
      <Reverted of={change} />
      {change?.pending === 'true' && change.revision !== undefined && <OnTrial of={change} revision={change.revision} asked={pending.dataUpdatedAt} />}
    </>
  );
}

/** Lost reports that the appliance is unreachable, and the age of the displayed data. */
function Lost({ since }: { since: number }) {
  const { t } = useTranslation();
  return (
    <Alert color="red" mb="md" role="alert" title={t('problem.no_connection')}>
      <Text size="sm">{t('problem.unreachable')}</Text>
      {since > 0 && <Text size="sm">{t('problem.stale', { at: when(new Date(since).toISOString()) })}</Text>}
    </Alert>
  );
}

/** OnTrial counts down until a pending change is reverted or, with a guard, kept. */
function OnTrial({ of: change, revision, asked }: { of: Pending; revision: number; asked: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { user } = useSession();
  const all = useMay();
  const may = all('history.rollback') || change.author === user;
  const left = useCountdown(change.left ?? 0, asked);
  const settled = () => client.invalidateQueries();
  const keep = useMutation({
    mutationFn: () => body(api.POST('/history/{revision}/confirm', { params: { path: { revision: String(revision) } } })),
    onSuccess: settled,
    onError: failed,
  });
  const back = useMutation({ mutationFn: () => body(api.DELETE('/pending')), onSuccess: settled, onError: failed });
  const end = outlook(change);
  return (
    <Alert color="yellow" mb="md" title={t(end === 'kept' ? 'pending.watched' : end === 'reverted' ? 'pending.title' : 'pending.on_trial', { revision })} role="status">
      <Group justify="space-between">
        <div>
          <Text size="sm">{t(`pending.${end}`, { count: left })}</Text>
          {change.guard && (
            <Text size="sm" className="text">
              {t('pending.conditions', { guard: change.guard })}
            </Text>
          )}
          {change.measured && change.measured.length > 0 && (
            <Text size="sm" className="text">
              {t('pending.measured', { measured: change.measured.join('; ') })}
            </Text>
          )}
          {change.problem && (
            <Text size="sm" fw={600} className="text">
              {t('pending.problem', { problem: change.problem })}
            </Text>
          )}
        </div>
        <Group gap="xs">
          <Button size="xs" disabled={!may} loading={keep.isPending} onClick={() => keep.mutate()}>
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

/** The key under which a dismissed message about a reverted change is stored. */
const read = 'sluice.reverted';

/** Reverted shows which change was reverted automatically, and why, until it is dismissed. */
function Reverted({ of }: { of: Pending | undefined }) {
  const { t } = useTranslation();
  const [seen, see] = useState(() => localStorage.getItem(read));
  const last = reverted(of, Date.now());
  const id = last && `${last.revision} ${last.at}`;
  if (!last || id === seen) return null;
  const close = () => {
    localStorage.setItem(read, id!);
    see(id!);
  };
  return (
    <Alert color="red" mb="md" role="alert" title={t(last.source === 'guard' ? 'pending.violated' : 'pending.unconfirmed', { revision: last.revision })} withCloseButton onClose={close} closeButtonLabel={t('palette.close')}>
      {last.reason && (
        <Text size="sm" className="text">
          {last.reason}
        </Text>
      )}
      <Text size="sm" c="dimmed">
        {t('pending.ended', { at: when(last.at), author: last.author, now: last.now })}
      </Text>
    </Alert>
  );
}

/**
 * Counts down whole seconds from the remaining time that the appliance reported. It uses only the clock of this
 * machine, which may differ from the appliance's.
 */
function useCountdown(left: number, asked: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil(left - Math.max(0, now - asked) / 1000));
}
