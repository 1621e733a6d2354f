import { Button, Group, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { idleness, lastUsed, noteUse, type Idleness } from './idle';
import { LazyModal } from '../ui/lazy-modal';

const signs = ['pointerdown', 'keydown', 'wheel', 'touchstart'];

/** IdleDialog signs out idle users, with a warning one minute before. */
export function IdleDialog({ minutes, end }: { minutes: number; end: () => void }) {
  const { t } = useTranslation();
  const [{ state, left }, stay] = useIdleness(minutes * 60_000);
  useEffect(() => {
    if (state === 'ended') end();
  }, [state, end]);
  return (
    <LazyModal opened={state === 'warned'} onClose={stay} title={t('idle.title')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <Text>{t('idle.left', { count: left })}</Text>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={end}>
          {t('nav.sign_out')}
        </Button>
        <Button onClick={stay} data-autofocus>
          {t('idle.stay')}
        </Button>
      </Group>
    </LazyModal>
  );
}

/**
 * The state of inactivity, and a function to stay signed in. While the warning is shown, only its button counts as
 * activity.
 */
function useIdleness(life: number): [Idleness, () => void] {
  const [now, setNow] = useState<Idleness>({ state: 'active', left: life / 1000 });
  useEffect(() => {
    noteUse(Date.now());
    const look = () => setNow(idleness(Date.now(), lastUsed(), life));
    const use = () => {
      if (idleness(Date.now(), lastUsed(), life).state === 'active') noteUse(Date.now());
    };
    const timer = setInterval(look, 1000);
    for (const sign of signs) addEventListener(sign, use, { passive: true });
    return () => {
      clearInterval(timer);
      for (const sign of signs) removeEventListener(sign, use);
    };
  }, [life]);
  const stay = () => {
    noteUse(Date.now());
    setNow(idleness(Date.now(), Date.now(), life));
  };
  return [now, stay];
}
