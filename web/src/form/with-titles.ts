import type { TFunction } from 'i18next';
import type { Schema } from '../api/fields';

/** A schema of a body whose fields have no titles, with titles added. */
export function withTitles(schema: Schema | undefined, t: TFunction): Schema | undefined {
  if (!schema) return undefined;
  const fields = Object.entries(schema.properties).map(([name, f], i) => {
    const title = f.title ?? t(`field.${name}`, { defaultValue: name });
    return [name, { 'x-order': i, ...f, title, description: f.description === `${title}.` ? undefined : f.description }] as const; // omits a description that equals the title
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

/** Some fields of a body, in this order. */
export function pick(schema: Schema | undefined, names: string[]): Schema | undefined {
  if (!schema) return undefined;
  const fields = names.filter((n) => schema.properties[n]).map((n, i) => [n, { ...schema.properties[n], 'x-order': i }] as const);
  return { ...schema, properties: Object.fromEntries(fields), required: schema.required?.filter((n) => names.includes(n)) };
}
