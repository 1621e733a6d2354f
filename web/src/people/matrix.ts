/** What a role may do: of each section which permissions are given. */
export type Switches = Record<string, Record<string, string>>;

/** Permissions in the order people read them: to see, to make, to run, to carry away. */
const order = ['menu', 'list', 'show', 'create', 'modify', 'delete', 'action', 'maintenance', 'apply', 'rollback', 'test', 'upload', 'download'];

/** The permissions some section has: the columns of the matrix. */
export function columns(of: Switches): string[] {
  const all = new Set(Object.values(of).flatMap(Object.keys));
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...all].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/** What of the switches differs, by section: the body of a change. */
export function differing(before: Switches, now: Switches): Switches {
  const out: Switches = {};
  for (const [section, names] of Object.entries(now)) {
    for (const [name, on] of Object.entries(names)) {
      if (before[section]?.[name] !== on) (out[section] ??= {})[name] = on;
    }
  }
  return out;
}

/** The switches with those of a body in their place. */
export function withSwitches(of: Switches, sent: Switches): Switches {
  return Object.fromEntries(Object.entries(of).map(([section, names]) => [section, { ...names, ...sent[section] }]));
}

/** Each permission of a body, as section.name, and whether it is given. */
export const listed = (sent: Switches) => Object.entries(sent).flatMap(([section, names]) => Object.entries(names).map(([name, on]) => [`${section}.${name}`, on] as const));

/** With one permission switched; on the whole section where name is none. */
export function switched(of: Switches, section: string, name: string | undefined, on: boolean): Switches {
  const names = name === undefined ? Object.keys(of[section]) : [name];
  return { ...of, [section]: { ...of[section], ...Object.fromEntries(names.map((n) => [n, String(on)])) } };
}
