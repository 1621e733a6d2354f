import { Alert, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { Problem } from './problem';

/** Whether the requested object does not exist. */
export const isGone = (error: unknown) => error instanceof Refused && error.status === 404;

type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/**
 * QueryView shows the result of a query once it is loaded. A missing permission is shown as information, not as an error.
 * Loaded content remains if a refetch fails, because the user may be typing into it. If the object no longer exists, it
 * is replaced by a message with a link back.
 */
export function QueryView<T>({ of, back, children }: { of: Query<T>; back?: ReactNode; children: (data: T) => ReactNode }) {
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
