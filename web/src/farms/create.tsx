import { Alert, Button, Group, Stack, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { preview, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useDraft } from '../form/draft';
import { useMay } from '../session/may';
import { Problem } from '../ui/problem';
import { Inputs } from './create-inputs';
import { callOf, farmWrites, newFarm, type NewFarm } from './new-farm';

/**
 * CreateFarm asks for the minimum of a working farm, tests it, and creates farm, service and backends as one change.
 */
export function CreateFarm() {
  const { t } = useTranslation();
  const go = useNavigate();
  const may = useMay();
  const draft = useDraft('new farm', { farmname: '', profile: 'http', vip: '', vport: '', backends: '', certificate: '', zone: '' });
  const v = draft.values as NewFarm;
  const [tried, setTried] = useState<Change>();
  const trial = useMutation({
    mutationFn: async (of: NewFarm) => {
      const change = newFarm(of, t('create.what', { name: of.farmname }));
      const { details } = await preview(change);
      return { change, warnings: details.filter(isAboutAddress).map((w) => w.message) };
    },
  });
  /** The result of a test is valid until the address changes. */
  const tested = trial.variables;
  const current = tested !== undefined && (['farmname', 'vip', 'vport', 'profile'] as const).every((name) => tested[name] === v[name]);
  const known = trial.isSuccess && current ? trial.data.warnings : undefined;
  /** Address and port are tested as soon as both are set, before anything else is filled in. */
  const off = may.call(callOf(v));
  const test = () => !off.disabled && v.farmname && v.vip && v.vport && trial.mutate({ ...v, backends: '', zone: '' });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    trial.mutate(v, { onSuccess: ({ change }) => setTried(change) });
  };
  const refused = current && trial.error instanceof Refused ? trial.error : undefined;
  const place = refused && farmWrites(trial.variables ?? v)[refused.write ?? 0];
  const at = place?.what === 'backend' ? 'backends' : place?.what === 'zone' ? 'zone' : place?.what === 'farm' ? fieldOf(refused?.field) : undefined;
  const wrong = (name: string) => (at === name ? refused?.message.replace(/^writes\[\d+\], \w+ \S+: /, '') : undefined);
  return (
    <Stack maw={720}>
      <Title order={1} size="h2">
        {t('create.title')}
      </Title>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Inputs values={v} set={draft.set} test={test} errorOf={wrong} warnings={known} />
          {off.title && <Alert color="gray">{off.title}</Alert>}
          {refused && !at && <Problem error={refused} changing />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => (draft.clear(), trial.reset())}>
              {t('form.discard')}
            </Button>
            <Button type="submit" {...off} loading={trial.isPending}>
              {t('form.create')}
            </Button>
          </Group>
        </Stack>
      </form>
      {tried && (
        <ChangeDialog
          change={tried}
          close={() => setTried(undefined)}
          done={() => {
            draft.clear();
            void go({ to: v.profile === 'gslb' ? '/farms/$farm/zones' : '/farms/$farm', params: { farm: v.farmname } });
          }}
        />
      )}
    </Stack>
  );
}

/** Whether a warning is about the address of the farm; others are shown when the farm is created. */
const isAboutAddress = (w: { field?: string }) => w.field === 'vip' || w.field === 'vport';

/** The field where a refusal of the farm is shown; a collision is about the address. */
const fieldOf = (field: string | undefined) => (field === 'farmname' || field === 'vip' || field === 'vport' ? field : undefined);
