import i18next from 'i18next';

/** When something was, in the reader's language and time zone. */
export function when(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short', timeStyle: 'medium' }).format(new Date(time));
}
