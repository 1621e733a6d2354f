import { Alert, Button } from '@mantine/core';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Broken } from '../ui/boundary';
import { retryParts } from '../ui/part';

/** RouteFailed stands in place of a page that could not be drawn; the menu around it stays. */
export function RouteFailed({ error, reset }: ErrorComponentProps) {
  return <Broken error={error} again={() => (retryParts(), reset())} />;
}

/** NoSuchPage stands where an address names no page. */
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
