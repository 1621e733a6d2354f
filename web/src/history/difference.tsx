import { Loader, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { Diff } from '../change/diff';
import { Problem } from '../ui/problem';
import { Modal } from '../ui/dialog';

/** Difference shows the difference between two revisions. */
export function Difference({ of, all, close }: { of: number; all: number[]; close: () => void }) {
  const { t } = useTranslation();
  const [from, setFrom] = useState(of - 1);
  const diff = useQuery(queries.diff(String(of), String(from)));
  const others = [...new Set([of - 1, ...all])].filter((n) => n !== of).sort((a, b) => b - a);
  return (
    <Modal opened onClose={close} size="lg" title={t('history.of', { number: of })} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <NativeSelect mb="md" w={220} label={t('history.since')} value={String(from)} onChange={(e) => setFrom(Number(e.currentTarget.value))} data={others.map(String)} />
      {diff.isPending && <Loader size="sm" aria-label="…" />}
      {diff.error && <Problem error={diff.error} />}
      {diff.data && <Diff text={diff.data.params.diff || t('change.nothing')} />}
    </Modal>
  );
}
