import type { Field, Schema } from '../api/fields';

/**
 * Some fields of a schema in the given order, each with additional properties, and with its title and description in
 * the language of the page.
 */
export function withTexts(schema: Schema | undefined, fields: Record<string, Partial<Field>>, text: (key: string) => string): Schema | undefined {
  if (!schema) return undefined;
  const properties = Object.entries(fields).map(([name, more], at) => {
    const field = { ...schema.properties[name], ...more, title: text(name), description: text(`${name}_about`), 'x-order': at, 'x-group': undefined };
    return [name, field] as const;
  });
  return { properties: Object.fromEntries(properties), required: schema.required?.filter((name) => name in fields) };
}
