import { useEffect, useRef, useState } from 'react';
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

/** Calls forget when a page is hidden because its session ended: what is secret does not wait there for the next sign-in. */
export function useForgetting(forget: () => void) {
  const latest = useRef(forget);
  useEffect(() => {
    latest.current = forget;
  });
  useEffect(() => {
    return () => {
      latest.current();
    };
  }, []);
}

const withoutSecrets = (edits: Values): Values => Object.fromEntries(Object.entries(edits).filter(([name]) => !isSecret(name)));

/** The values of a form: what the object has, and over it what was typed. */
export function useDraft(form: string, initial: Values) {
  const [edits, setEdits] = useState<Values>(() => drafts.get(form) ?? {});
  useForgetting(() => setEdits(withoutSecrets));
  const keep = (next: Values) => {
    const kept = withoutSecrets(next);
    if (Object.keys(kept).length > 0) drafts.set(form, kept);
    else drafts.delete(form);
    setEdits(next);
  };
  return {
    values: { ...initial, ...edits },
    set: (name: string, value: Values[string]) => keep({ ...edits, [name]: value }),
    clear: () => keep({}),
  };
}
