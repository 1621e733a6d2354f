import { Alert, Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

/** NoSuchPage is shown for an unknown address. */
export function NoSuchPage() {
  const { t } = useTranslation();
  return (
    <Alert color="gray" title={t('broken.no_page')} m="md">
      <Button renderRoot={(props) => <Link {...props} to="/" />} variant="default" size="xs">
        {t('broken.dashboard')}
      </Button>
    </Alert>
  );
}
