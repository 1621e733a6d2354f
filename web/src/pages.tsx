import { useQueryClient } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useCallback } from 'react';
import { queries } from './api/queries';
import { router } from './router';
import { IdleDialog } from './session/idle-dialog';
import { signOut } from './session/session';

/** Pages shows the page of the address. */
export function Pages() {
  return <RouterProvider router={router} />;
}

/** Idle ends the session of a user who has left for so many minutes, and shows the sign-in in place of the page. */
export function Idle({ minutes }: { minutes: number }) {
  const client = useQueryClient();
  const end = useCallback(() => {
    void signOut()
      .catch(() => undefined) // the session may have ended already
      .then(() => client.resetQueries({ queryKey: queries.who.queryKey }));
  }, [client]);
  return <IdleDialog minutes={minutes} end={end} />;
}
