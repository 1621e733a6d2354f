import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, body } from '../api/client';
import { queries } from '../api/queries';

const utf8 = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));

/** Begins a session; the browser keeps its cookie, no script can read it. */
export function signIn(user: string, password: string, code: string) {
  const headers: Record<string, string> = { Authorization: `Basic ${btoa(utf8(`${user}:${password}`))}` };
  if (code) headers['X-OTP'] = code;
  return body(api.POST('/session', { headers }));
}

export function signOut() {
  return body(api.DELETE('/session'));
}

/** Who is signed in, and how to leave. */
export function useSession() {
  const client = useQueryClient();
  const who = useQuery(queries.who).data?.params;
  return {
    user: who?.user ?? '',
    host: who?.hostname ?? '',
    version: who?.sluice_version ?? '',
    leave: () =>
      void signOut()
        .catch(() => undefined) // the session may have ended already
        .then(() => {
          client.clear();
          location.assign('/gui/');
        }),
  };
}
