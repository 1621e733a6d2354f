import { Alert, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { Problem } from './problem';

type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/** Asked shows what was asked for once it is there. What somebody may not see is said calmly: nothing is broken. */
export function Asked<T>({ of, children }: { of: Query<T>; children: (data: T) => ReactNode }) {
  const { t } = useTranslation();
  if (of.error instanceof Refused && of.error.status === 403) {
    return (
      <Alert color="gray" title={t('problem.not_yours')}>
        <Text size="sm" className="text">
          {of.error.message}
        </Text>
      </Alert>
    );
  }
  if (of.error) return <Problem error={of.error} again={() => void of.refetch()} />;
  return of.data === undefined ? <Loader size="sm" aria-label="…" /> : <>{children(of.data)}</>;
}
