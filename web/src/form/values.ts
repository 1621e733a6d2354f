import type { Condition, Field, Schema, Settings } from '../api/fields';
import { kindOf, mayBeNull } from './schema';

/** The value in a form: a boolean for a switch, lines for a list, otherwise text. */
export type Value = string | boolean | string[];
export type Values = Record<string, Value>;

/** The form value of an API value; an unset one shows the default if that is effective. */
function shown(name: string, f: Field, value: unknown): Value {
  switch (kindOf(name, f)) {
    case 'switch':
      return String(value ?? f.default ?? false) === 'true';
    case 'choices':
    case 'list':
      return Array.isArray(value) ? value.map(String) : [];
    case 'choice':
      return String(value ?? (mayBeNull(f) && f.default === undefined ? '' : (f.default ?? '')));
    default:
      return value === null || value === undefined || typeof value === 'object' ? '' : String(value);
  }
}

/** All fields of an object as form values. */
export function valuesOf(schema: Schema, seen: Settings): Values {
  return Object.fromEntries(Object.entries(schema.properties).map(([name, f]) => [name, shown(name, f, seen[name])]));
}

/** The API value of a form value. Text in a number field is sent unchanged: the appliance reports the error. */
function sent(name: string, f: Field, value: Value): unknown {
  if (Array.isArray(value)) return value.filter((line) => line.trim() !== '');
  if (typeof value === 'boolean') return String(value);
  const text = value.trim();
  if (text === '') return f.enum?.includes('') || !mayBeNull(f) ? '' : null;
  const number = kindOf(name, f) === 'number' || (kindOf(name, f) === 'choice' && f.enum?.some((v) => typeof v === 'number'));
  return number && /^-?\d+$/.test(text) ? Number(text) : kindOf(name, f) === 'secret' ? value : text;
}

const same = (a: Value, b: Value) => JSON.stringify(a) === JSON.stringify(b);

/** The body of a change: the applicable fields of a form that differ from their initial values. */
export function changed(schema: Schema, before: Values, now: Values, farm?: Values): Settings {
  const body: Settings = {};
  for (const [name, f] of Object.entries(schema.properties)) {
    if (f.readOnly || same(before[name] ?? '', now[name] ?? '') || !applies(f['x-only'], now, farm)) continue;
    body[name] = sent(name, f, now[name]);
  }
  return body;
}

const isSet = (v: Value | undefined) => v !== undefined && v !== '' && v !== '0' && v !== false && !(Array.isArray(v) && v.length === 0);

/** Whether a field is effective with the other values. */
export function applies(c: Condition | undefined, values: Values, farm?: Values): boolean {
  if (!c) return true;
  const of = c.of === 'farm' ? farm : values;
  if (!of) return true; // an unknown condition does not hide the field
  const met = c.fields.some((name) => (c.values ? c.values.includes(String(of[name] ?? '')) : isSet(of[name])));
  return (met || (c.or !== undefined && applies(c.or, values, farm))) && (c.and === undefined || applies(c.and, values, farm));
}
