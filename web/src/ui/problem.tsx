import { Alert, Button, Group, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';

/** Statuses with a title for the problem; others show only their text. */
const named: Record<number, string> = { 0: 'no_connection', 401: 'session', 403: 'not_yours', 404: 'not_found', 409: 'conflict', 412: 'changed', 422: 'invalid', 400: 'invalid', 429: 'too_many' };

/** problemTitle returns a title for the kind of an error, of a page or of a change. */
export function problemTitle(error: unknown, t: TFunction, changing = false): string {
  const status = error instanceof Refused ? error.status : undefined;
  if (changing && status === 403) return t('problem.not_permitted');
  return t(`problem.${(status !== undefined && named[status]) || (status !== undefined && status >= 500 ? 'appliance' : 'title')}`);
}

/** problemText returns the text of an error. */
export function problemText(error: unknown, t: TFunction): string {
  if (error instanceof Refused && error.status === 0) return t('problem.unreachable');
  return error instanceof Error ? error.message : String(error);
}

/** Problem shows an error of a page or of a change, with a retry button. */
export function Problem({ error, again, changing, children }: { error: unknown; again?: () => void; changing?: boolean; children?: ReactNode }) {
  const { t } = useTranslation();
  const details = error instanceof Refused ? error.details : undefined;
  return (
    <Alert color="red" title={problemTitle(error, t, changing)} role="alert" m="md">
      <Text className="text">{problemText(error, t)}</Text>
      {details && (
        <Text size="sm" className="text" mt={4}>
          {details}
        </Text>
      )}
      {(again || children) && (
        <Group mt="sm">
          {again && (
            <Button size="xs" variant="default" onClick={again}>
              {t('problem.again')}
            </Button>
          )}
          {children}
        </Group>
      )}
    </Alert>
  );
}
