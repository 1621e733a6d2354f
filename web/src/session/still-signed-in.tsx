import { Alert, Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';

/** StillSignedIn replaces the pages of a user whose sign-out did not reach the appliance. */
export function StillSignedIn({ error, again }: { error: unknown; again: () => void }) {
  const { t } = useTranslation();
  return (
    <Alert color="red" title={t('problem.still_signed_in')} role="alert" m="md">
      {error instanceof Refused && error.status > 0 && <Text className="text">{error.message}</Text>}
      <Button size="xs" variant="default" mt="xs" onClick={again}>
        {t('problem.again')}
      </Button>
    </Alert>
  );
}
