import { Alert, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { Problem } from './problem';

/** Whether what was asked for does not exist, or no longer. */
export const isGone = (error: unknown) => error instanceof Refused && error.status === 404;

type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/**
 * Asked shows what was asked for once it is there. What somebody may not see is said calmly: nothing is broken.
 * What is shown stays when it cannot be asked for again: somebody may be typing into it. What no longer exists
 * goes, and back leads to where it was.
 */
export function Asked<T>({ of, back, children }: { of: Query<T>; back?: ReactNode; children: (data: T) => ReactNode }) {
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
  const problem = of.error ? <Problem error={of.error} again={() => void of.refetch()}>{isGone(of.error) && back}</Problem> : null;
  if (of.error && (of.data === undefined || isGone(of.error))) return problem;
  if (of.data === undefined) return <Loader size="sm" aria-label="…" />;
  return (
    <>
      {problem}
      {children(of.data)}
    </>
  );
}
