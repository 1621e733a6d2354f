import i18next from 'i18next';

/** When something was, in the reader's language and time zone. */
export function when(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short', timeStyle: 'medium' }).format(new Date(time));
}

/**
 * A date as the appliance writes it for clients of the family, in its own time zone (Mon Nov 30 00:09:42 2026), in the
 * reader's language. Other texts stay as they are.
 */
export function machineTime(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short', timeStyle: 'medium' }).format(at);
}

/** The day of a time, in the reader's language and time zone. */
export function day(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { dateStyle: 'short' }).format(new Date(time));
}

/** The time of day to a millisecond, in the reader's language and time zone. */
export function clock(time: string): string {
  return new Intl.DateTimeFormat(i18next.language, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }).format(new Date(time));
}
