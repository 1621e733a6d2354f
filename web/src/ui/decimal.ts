import i18next from 'i18next';

/** A number as text, with the decimal separator of the reader's language instead of a point. */
export function localized(number: string): string {
  const separator = new Intl.NumberFormat(i18next.language).formatToParts(0.5).find((part) => part.type === 'decimal')?.value ?? '.';
  return number.replace('.', separator);
}

/** A number with that many decimal places, in the reader's language. */
export const decimal = (n: number, places: number) => localized(n.toFixed(places));
