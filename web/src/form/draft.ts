import { useState } from 'react';
import { isSecret } from './schema';
import type { Values } from './values';

/**
 * What was typed into forms and not saved, by form. It outlives the page: somebody who
 * looks elsewhere, or whose session ends meanwhile, finds it again. Secrets are typed anew.
 */
const drafts = new Map<string, Values>();

/** Forgets all drafts: somebody else signs in. */
export function forgetDrafts() {
  drafts.clear();
}

/** The values of a form: what the object has, and over it what was typed. */
export function useDraft(form: string, initial: Values) {
  const [edits, setEdits] = useState<Values>(() => drafts.get(form) ?? {});
  const keep = (next: Values) => {
    const kept = Object.entries(next).filter(([name]) => !isSecret(name));
    if (kept.length > 0) drafts.set(form, Object.fromEntries(kept));
    else drafts.delete(form);
    setEdits(next);
  };
  return {
    values: { ...initial, ...edits },
    set: (name: string, value: Values[string]) => keep({ ...edits, [name]: value }),
    clear: () => keep({}),
  };
}
