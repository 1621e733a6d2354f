import { useEffect, useRef, useState } from 'react';
import { drafts } from '../session/drafts';
import { isSecret } from './schema';
import type { Values } from './values';

/**
 * Calls forget when the page is hidden because its session ended, so that secrets do not remain in memory until the
 * next sign-in.
 */
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

/**
 * The values of a form: the object's, overridden by unsaved input. The user finds that again after visiting another
 * page, or after the session ended. Secrets are not kept.
 */
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
