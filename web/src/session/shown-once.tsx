import { Stack, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { Once } from '../ui/once';
import { LateModal } from '../ui/late-modal';

type Shown = { title: string; about: string; label: string; text: string };

let shown: Shown | undefined;
const readers = new Set<() => void>();

/** Shows what the appliance tells this once. It stays until it is closed, even when the session ends meanwhile. */
export function showOnce(what: Shown | undefined) {
  shown = what;
  readers.forEach((read) => read());
}

/** ShownOnce is where that appears: above all pages, and above the sign-in. */
export function ShownOnce() {
  const { t } = useTranslation();
  const is = useSyncExternalStore(
    (read) => (readers.add(read), () => readers.delete(read)),
    () => shown,
  );
  return (
    <LateModal opened={is !== undefined} onClose={() => showOnce(undefined)} closeOnClickOutside={false} size="lg" title={is?.title} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {is && (
        <Stack>
          <Text>{is.about}</Text>
          <Once label={is.label} text={is.text} />
        </Stack>
      )}
    </LateModal>
  );
}
