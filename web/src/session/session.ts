import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, body } from '../api/client';
import { queries } from '../api/queries';
import { finishSignOut, requestSignOut } from '../api/sign-out';
import { hidePages } from './hide-pages';

const utf8 = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));

/** Starts a session. The browser keeps its cookie, which scripts cannot read. */
export function signIn(user: string, password: string, code: string) {
  const headers: Record<string, string> = { Authorization: `Basic ${btoa(utf8(`${user}:${password}`))}` };
  if (code) headers['X-OTP'] = code;
  return body(api.POST('/session', { headers }));
}

/** The signed-in user, and a function to sign out. */
export function useSession() {
  const client = useQueryClient();
  const who = useQuery(queries.who).data?.params;
  return {
    user: who?.user ?? '',
    host: who?.hostname ?? '',
    version: who?.sluice_version ?? '',
    leave: () => {
      requestSignOut();
      void finishSignOut().then(
        () => {
          client.clear();
          location.assign('/gui/');
        },
        () => hidePages(client),
      );
    },
  };
}
