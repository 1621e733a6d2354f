import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Trial } from './change';

/** The default conditions of a guard. */
const usual = 'errors<1%,p99<500ms,10m';

/** TrialInput selects whether a change is kept, must be confirmed, or is reverted if health conditions fail. */
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
