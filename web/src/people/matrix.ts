/** The permissions of a role, by section. */
export type Switches = Record<string, Record<string, string>>;

/** The order of permissions: read, create, operate, export. */
const order = ['menu', 'list', 'show', 'create', 'modify', 'delete', 'action', 'maintenance', 'apply', 'rollback', 'test', 'upload', 'download'];

/** The columns of the matrix: permissions that some section has. */
export function columns(of: Switches): string[] {
  const all = new Set(Object.values(of).flatMap(Object.keys));
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...all].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/** The body of a change: the switches that differ, by section. */
export function differing(before: Switches, now: Switches): Switches {
  const out: Switches = {};
  for (const [section, names] of Object.entries(now)) {
    for (const [name, on] of Object.entries(names)) {
      if (before[section]?.[name] !== on) (out[section] ??= {})[name] = on;
    }
  }
  return out;
}

/** The switches overridden by those of a body. */
export function withSwitches(of: Switches, sent: Switches): Switches {
  return Object.fromEntries(Object.entries(of).map(([section, names]) => [section, { ...names, ...sent[section] }]));
}

/** Each permission of a body as section.name, and whether it is granted. */
export const listed = (sent: Switches) => Object.entries(sent).flatMap(([section, names]) => Object.entries(names).map(([name, on]) => [`${section}.${name}`, on] as const));

/** The switches with one permission changed; without a name, the whole section. */
export function switched(of: Switches, section: string, name: string | undefined, on: boolean): Switches {
  const names = name === undefined ? Object.keys(of[section]) : [name];
  return { ...of, [section]: { ...of[section], ...Object.fromEntries(names.map((n) => [n, String(on)])) } };
}
