import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Explain } from '../farms/explain';
import type { FarmNumbers } from '../api/types';

/** WhichWay traces a request through one of the http farms. */
export function WhichWay({ farms }: { farms: FarmNumbers[] | undefined }) {
  const { t } = useTranslation();
  const [chosen, choose] = useState('');
  const readers = (farms ?? []).filter((f) => f.profile === 'http' || f.profile === 'https');
  const farm = readers.find((f) => f.farmname === chosen) ?? readers[0];
  if (!farm) return null;
  return (
    <Explain key={farm.farmname} farm={farm.farmname} vport={farm.vport} secure={farm.profile === 'https'}>
      {readers.length > 1 && <NativeSelect label={t('farms.name')} value={farm.farmname} onChange={(e) => choose(e.currentTarget.value)} data={readers.map((f) => f.farmname)} />}
    </Explain>
  );
}
