import { Alert, Button, Checkbox, Code, CopyButton, Group, Loader, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useMay } from '../session/may';
import { Problem } from '../ui/problem';
import { done, warned } from '../ui/notify';
import { applyChange, forced, isConflict, isForceable, tryChange, unforeseen, type Change, type Trial } from './change';
import { Diff } from './diff';
import { TrialInput } from './trial';
import { offerUndo } from './undo';
import { Modal } from '../ui/dialog';

/** ChangeDialog shows the effect of a change, and applies it on request. */
export function ChangeDialog({ change, close, done: after, children }: { change: Change; close: () => void; done?: () => void; children?: ReactNode }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const may = useMay();
  const [on, setOn] = useState<Trial>({});
  const [force, setForce] = useState(false);
  const [late, setLate] = useState(false); // somebody else made a change between preview and Apply
  const trial = useQuery({ queryKey: ['try', change.call, force], queryFn: () => tryChange(change, force), staleTime: 0, gcTime: 0, retry: false });
  const again = () => void client.invalidateQueries({ predicate: (q) => q.queryKey[0] !== 'try' }); // except the preview, which is obsolete
  const apply = useMutation({
    mutationFn: () => applyChange(change, on, trial.data?.match, force),
    onError: (error) => {
      if (!isConflict(error)) return;
      setLate(true);
      again();
      void trial.refetch();
    },
    onSuccess: ({ revision, warnings }) => {
      const message = t(on.guard ? 'change.done_guarded' : on.confirm ? 'change.done_unconfirmed' : 'change.done', { what: change.title });
      const goesBack = change.difference === undefined && !change.unversioned && trial.data?.diff && !on.confirm && !on.guard && may('history.rollback');
      if (goesBack && revision > 1) offerUndo(message, revision, again);
      else done(message);
      const unknown = unforeseen(warnings, trial.data?.warnings ?? []);
      if (unknown.length > 0) warned(unknown.join('; '));
      close();
      after?.();
      again();
    },
  });
  const [refusal, setRefusal] = useState<Error>(); // remains visible while the change is forced
  if (isForceable(trial.error) && trial.error !== refusal) setRefusal(trial.error!);
  const equal = force ? forced(change) : change;
  const diff = change.difference ?? trial.data?.diff;
  const changed = late || trial.data?.changed === true;
  const elsewhere = changed && change.position === true; // another object may be at that position now
  const outdated = changed && change.difference !== undefined; // its lines show old values
  useEffect(() => {
    if (outdated) again(); // refreshes the page, so that its next dialog has current values
  }, [outdated]);
  const nothing = trial.isSuccess && !change.unversioned && diff === '' && trial.data.impact.length === 0; // a restart has an empty difference
  return (
    <Modal opened onClose={close} title={change.title} size="lg" closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <Stack>
        {children}
        {trial.isPending && <Loader size="sm" aria-label="…" />}
        {trial.error && !isForceable(trial.error) && <Problem error={trial.error} changing />}
        {refusal && (
          <Problem error={refusal}>
            <Force on={force} set={setForce} />
          </Problem>
        )}
        {trial.data?.needsForce && !refusal && <Force on={force} set={setForce} />}
        {trial.isSuccess && (
          <>
            {changed && (
              <Alert color="orange" title={t('problem.changed')} role="alert">
                {t(elsewhere ? 'change.moved' : outdated ? 'change.outdated' : 'change.meanwhile')}
              </Alert>
            )}
            {nothing && <Text c="dimmed">{t('change.nothing')}</Text>}
            {diff && !outdated && <Diff text={diff} />}
            <Consequences impact={trial.data.impact} warnings={trial.data.warnings} />
          </>
        )}
        {equal.command && <Equal label={t('change.command')} text={equal.command} />}
        <Equal label={t('change.call')} text={equal.call} />
        {change.difference === undefined && !change.unversioned && <TrialInput trial={on} set={setOn} />}
        {apply.error && !isConflict(apply.error) && <Problem error={apply.error} changing />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('change.cancel')}
          </Button>
          <Button disabled={!trial.isSuccess || trial.isFetching || nothing || elsewhere || outdated || (trial.data.needsForce && !force)} loading={apply.isPending} onClick={() => apply.mutate()}>
            {t('change.apply')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Consequences shows the impact of a change on traffic, and its warnings. */
function Consequences({ impact, warnings }: Pick<Awaited<ReturnType<typeof tryChange>>, 'impact' | 'warnings'>) {
  const { t } = useTranslation();
  return (
    <>
      {impact.map((i, n) => (
        <Alert key={n} color="orange" p="xs">
          {t(`cost.${i.cost}`, { farm: i.farm, defaultValue: `${i.farm}: ${i.cost}` })}
        </Alert>
      ))}
      {warnings.map((w) => (
        <Alert key={w} color="yellow" p="xs">
          {w}
        </Alert>
      ))}
    </>
  );
}

/** Force accepts the consequences of a change that the appliance otherwise refuses. */
export function Force({ on, set }: { on: boolean; set: (on: boolean) => void }) {
  const { t } = useTranslation();
  return <Checkbox label={t('change.force')} description={t('change.force_about')} checked={on} onChange={(e) => set(e.currentTarget.checked)} />;
}

/** Equal shows the same change for another interface. */
export function Equal({ label, text }: { label: string; text: string }) {
  const { t } = useTranslation();
  return (
    <div>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {label}
        </Text>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="subtle" onClick={copy}>
              {t(copied ? 'change.copied' : 'change.copy')}
            </Button>
          )}
        </CopyButton>
      </Group>
      <Code block tabIndex={0}>
        {text}
      </Code>
    </div>
  );
}
