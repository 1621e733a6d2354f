import type { Field, Schema } from '../api/fields';

/** The kind of input for a field. */
export type Kind = 'switch' | 'choice' | 'choices' | 'list' | 'number' | 'secret' | 'text';

const types = (f: Field) => ([] as string[]).concat(f.type ?? 'string');

/** Whether a field may be empty. */
export const mayBeNull = (f: Field) => types(f).includes('null');

/** Whether a field is write-only. */
export const isSecret = (name: string) => /password|passphrase|secret|zapikey|eab_hmac/.test(name);

export function kindOf(name: string, f: Field): Kind {
  const of = types(f);
  if (of.includes('boolean') || f.enum?.every((v) => v === 'true' || v === 'false')) return 'switch';
  if (of.includes('array')) return f.items?.enum ? 'choices' : 'list';
  if (f.enum) return 'choice';
  if (of.includes('integer') && !of.includes('string')) return 'number';
  return isSecret(name) ? 'secret' : 'text';
}

/** The possible values, without synonyms. */
export function choices(f: Field): string[] {
  const all = f['x-values'] ?? f.items?.enum ?? f.enum ?? [];
  return all.filter((v) => v !== null && v !== '').map(String);
}

/** The fields that a form shows, in the groups and the order of the appliance. */
export function groups(schema: Schema, when: 'create' | 'update'): [string, [string, Field][]][] {
  const out = new Map<string, [string, Field][]>();
  const fields = Object.entries(schema.properties).sort(([, a], [, b]) => (a['x-order'] ?? 0) - (b['x-order'] ?? 0));
  for (const entry of fields) {
    const [, f] = entry;
    if (f.readOnly || (f['x-when'] && f['x-when'] !== when)) continue;
    const group = f['x-group'] ?? '';
    out.set(group, [...(out.get(group) ?? []), entry]);
  }
  return [...out];
}
