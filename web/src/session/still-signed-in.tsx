import { Alert, Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Refused } from '../api/client';
import { cancelSignOut } from '../api/sign-out';

/** StillSignedIn replaces the pages of a user whose sign-out did not reach the appliance, or was refused by it. */
export function StillSignedIn({ error, again }: { error: unknown; again: () => void }) {
  const { t } = useTranslation();
  const refused = error instanceof Refused && error.status > 0 ? error : undefined;
  return (
    <Alert color="red" title={t(refused ? 'problem.sign_out_refused' : 'problem.still_signed_in')} role="alert" m="md">
      {refused && <Text className="text">{refused.message}</Text>}
      <Group mt="xs">
        <Button size="xs" variant="default" onClick={again}>
          {t('problem.again')}
        </Button>
        {refused && (
          <Button size="xs" variant="default" onClick={() => (cancelSignOut(), again())}>
            {t('problem.stay_signed_in')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
