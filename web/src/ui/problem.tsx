import { Alert, Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';

/** What the appliance said when it refused, and a way to try again. */
export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const { t } = useTranslation();
  const text = error instanceof Refused && error.status === 0 ? t('problem.unreachable') : error instanceof Error ? error.message : String(error);
  const details = error instanceof Refused ? error.details : undefined;
  return (
    <Alert color="red" title={t('problem.title')} role="alert" m="md">
      <Text className="text">{text}</Text>
      {details && (
        <Text size="sm" className="text" mt={4}>
          {details}
        </Text>
      )}
      {again && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={again}>
            {t('problem.again')}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
