import { notifications } from '@mantine/notifications';
import i18next from 'i18next';
import { problemText, problemTitle } from './problem';

/** Says what was done. */
export function done(message: string) {
  notifications.show({ message, color: 'green', closeButtonProps: { 'aria-label': i18next.t('palette.close') } });
}

/** Says what was saved but cannot work, in the appliance's words, until it is read. */
export function warned(message: string) {
  notifications.show({ message, color: 'orange', autoClose: false, closeButtonProps: { 'aria-label': i18next.t('palette.close') } });
}

/** Says why something was refused, in the appliance's words, until it is read. */
export function failed(error: unknown) {
  notifications.show({
    title: problemTitle(error, i18next.t),
    message: problemText(error, i18next.t),
    color: 'red',
    autoClose: false,
    closeButtonProps: { 'aria-label': i18next.t('palette.close') },
  });
}
