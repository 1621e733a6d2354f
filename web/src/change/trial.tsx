import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Trial } from './change';

/** What a guard watches until somebody writes something else. */
const usual = 'errors<1%,p99<500ms,10m';

/** TrialInput asks whether a change holds at once, only if somebody confirms it, or only while all goes well. */
export function TrialInput({ trial, set }: { trial: Trial; set: (t: Trial) => void }) {
  const { t } = useTranslation();
  const [choice, choose] = useState('');
  const take = (to: string) => {
    choose(to);
    set(to === 'guard' ? { guard: usual } : to ? { confirm: to } : {});
  };
  return (
    <>
      <Select
        label={t('change.confirm')}
        value={choice}
        onChange={(to) => take(to ?? '')}
        allowDeselect={false}
        data={[
          { value: '', label: t('change.at_once') },
          { value: '2m', label: t('change.within', { count: 2 }) },
          { value: '10m', label: t('change.within', { count: 10 }) },
          { value: 'guard', label: t('change.guarded') },
        ]}
      />
      {choice === 'guard' && <TextInput label={t('change.guard')} description={t('change.guard_about')} value={trial.guard ?? ''} onChange={(e) => set({ guard: e.currentTarget.value })} />}
    </>
  );
}
