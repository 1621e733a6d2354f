import { notifications } from '@mantine/notifications';
import i18next from 'i18next';
import { problemText, problemTitle } from './problem';

/** Reports a success. */
export function done(message: string) {
  notifications.show({ message, color: 'green', closeButtonProps: { 'aria-label': i18next.t('palette.close') } });
}

/** Shows a warning of the appliance about something that was saved but cannot work, until it is dismissed. */
export function warned(message: string) {
  notifications.show({ message, color: 'orange', autoClose: false, closeButtonProps: { 'aria-label': i18next.t('palette.close') } });
}

/** Shows the appliance's reason for a refusal, until it is dismissed. */
export function failed(error: unknown) {
  notifications.show({
    title: problemTitle(error, i18next.t),
    message: problemText(error, i18next.t),
    color: 'red',
    autoClose: false,
    closeButtonProps: { 'aria-label': i18next.t('palette.close') },
  });
}
