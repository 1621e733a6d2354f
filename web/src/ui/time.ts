import i18next from 'i18next';

/** When something was, in the reader's language and time zone. */
export function when(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short', timeStyle: 'medium' }).format(new Date(time));
}

/** The day of a time, in the reader's language and time zone. */
export function day(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short' }).format(new Date(time));
}

/** The time of day to a millisecond, in the reader's language and time zone. */
export function clock(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }).format(new Date(time));
}
