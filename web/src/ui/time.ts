import i18next from 'i18next';

/** A date and time in the reader's language and time zone. */
export function when(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short', timeStyle: 'medium' }).format(new Date(time));
}

/**
 * A date in the product family's format, in the appliance's time zone (Mon Nov 30 00:09:42 2026), is converted to the
 * reader's language. Other texts are unchanged.
 */
export function machineTime(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short', timeStyle: 'medium' }).format(at);
}

/** The date of a time, in the reader's language and time zone. */
export function day(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short' }).format(new Date(time));
}

/** The time of day with milliseconds, in the reader's language and time zone. */
export function clock(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }).format(new Date(time));
}
