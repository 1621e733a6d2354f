import { useQueryClient } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Activity, useCallback, useLayoutEffect, useRef, type ReactNode } from 'react';
import { router } from './router';
import { IdleDialog } from './session/idle-dialog';
import { requestSignOut } from './api/sign-out';
import { hidePages } from './session/hide-pages';

/** Pages shows the page of the current address. While no user is signed in, it is hidden but keeps its state. */
export function Pages({ shown, minutes }: { shown: boolean; minutes: number }) {
  return (
    <>
      <Activity mode={shown ? 'visible' : 'hidden'}>
        <Refocused>
          <RouterProvider router={router} />
        </Refocused>
      </Activity>
      {shown && <Idle minutes={minutes} />}
    </>
  );
}

/** Refocused restores the focus from before its children were hidden. */
function Refocused({ children }: { children: ReactNode }) {
  const last = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const note = (e: FocusEvent) => void (e.target instanceof HTMLElement && (last.current = e.target));
    if (last.current?.isConnected) last.current.focus();
    document.addEventListener('focusin', note);
    return () => document.removeEventListener('focusin', note);
  }, []);
  return children;
}

/** Idle ends the session after that many minutes of inactivity, and shows the sign-in page. */
function Idle({ minutes }: { minutes: number }) {
  const client = useQueryClient();
  const end = useCallback(() => {
    requestSignOut();
    hidePages(client);
  }, [client]);
  return <IdleDialog minutes={minutes} end={end} />;
}
