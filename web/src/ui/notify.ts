import { notifications } from '@mantine/notifications';
import i18next from 'i18next';
import { Refused } from '../api/client';

/** Says what was done. */
export function done(message: string) {
  notifications.show({ message, color: 'green', closeButtonProps: { 'aria-label': i18next.t('palette.close') } });
}

/** Says why something was refused, in the appliance's words, until it is read. */
export function failed(error: unknown) {
  const unreachable = error instanceof Refused && error.status === 0;
  notifications.show({
    title: i18next.t('problem.title'),
    message: unreachable ? i18next.t('problem.unreachable') : error instanceof Error ? error.message : String(error),
    color: 'red',
    autoClose: false,
    closeButtonProps: { 'aria-label': i18next.t('palette.close') },
  });
}
