import { Alert, Button } from '@mantine/core';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Broken } from '../ui/boundary';
import { retryParts } from '../ui/part';

/** RouteFailed replaces a page that failed to render; the menu remains. */
export function RouteFailed({ error, reset }: ErrorComponentProps) {
  return <Broken error={error} again={() => (retryParts(), reset())} />;
}

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
