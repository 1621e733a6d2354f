import { Stack, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { OneTimeText } from '../ui/one-time-text';
import { LazyModal } from '../ui/lazy-modal';

type Shown = { title: string; about: string; label: string; text: string };

let shown: Shown | undefined;
const readers = new Set<() => void>();

/**
 * Shows a secret that the appliance reveals only once. It stays until it is closed, even if the session ends meanwhile.
 */
export function showOnce(what: Shown | undefined) {
  shown = what;
  readers.forEach((read) => read());
}

/** ShownOnce is the place of these secrets: above all pages and the sign-in page. */
export function ShownOnce() {
  const { t } = useTranslation();
  const is = useSyncExternalStore(
    (read) => (readers.add(read), () => readers.delete(read)),
    () => shown,
  );
  return (
    <LazyModal opened={is !== undefined} onClose={() => showOnce(undefined)} closeOnClickOutside={false} size="lg" title={is?.title} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {is && (
        <Stack>
          <Text>{is.about}</Text>
          <OneTimeText label={is.label} text={is.text} />
        </Stack>
      )}
    </LazyModal>
  );
}
