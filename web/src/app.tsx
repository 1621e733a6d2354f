import { Center, Loader, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { useEffect, useState } from 'react';
import { Refused, signedOut } from './api/client';
import { useLive } from './api/live';
import { queries } from './api/queries';
import { ConfirmDialog } from './session/confirm-dialog';
import { isSigningOut } from './api/sign-out';
import { forgetUser, hidePages } from './session/hide-pages';
import { ShownOnce } from './session/shown-once';
import { SignIn } from './session/sign-in';
import { StillSignedIn } from './session/still-signed-in';
import { theme } from './ui/theme';
import { Boundary } from './ui/boundary';
import { lazyComponent } from './ui/lazy-component';
import { Problem } from './ui/problem';

/** The parts that need a session; the sign-in page is outside of them. */
const Pages = lazyComponent(async () => (await import('./pages')).Pages, <Waiting />);

/** Handles the end of a session, which any call may detect: the signed-in user is queried again. */
const ended = (error: unknown) => {
  if (!signedOut(error) || !client.getQueryData(queries.who.queryKey)) return;
  hidePages(client);
};

const client = new QueryClient({
  queryCache: new QueryCache({ onError: ended }),
  mutationCache: new MutationCache({ onError: ended }),
  defaultOptions: {
    // Calls are sent even if the browser believes that it is offline. Otherwise it would hold back a change, and make
    // it at a later time.
    mutations: { networkMode: 'always' },
    queries: { networkMode: 'always', refetchOnReconnect: (query) => query.state.status === 'error', retry: (count, error) => !(error instanceof Refused && error.status > 0) && count < 3, staleTime: 2_000 },
  },
});

/** The nonce for styles that scripts add: those of Mantine and of its scroll lock. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="nonce"]')?.content ?? '';
setNonce(nonce);

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Boundary>
        <Notifications position="top-center" />
      </Boundary>
      <Boundary>
        <ShownOnce />
      </Boundary>
      <QueryClientProvider client={client}>
        <Boundary>
          <ConfirmDialog />
        </Boundary>
        <Boundary>
          <Authenticated />
        </Boundary>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/**
 * Authenticated shows the pages to a signed-in user, and the sign-in page otherwise. When a session ends, its pages are
 * hidden, and the same user finds them unchanged after signing in, including unsaved input.
 */
function Authenticated() {
  const who = useQuery(queries.who);
  const rights = useQuery({ ...queries.rights, enabled: who.isSuccess });
  useLive(who.isSuccess);
  const known = !who.isPending;
  useEffect(() => {
    if (known) void Pages.preload(); // while rights are loading, or the user types the password
  }, [known]);
  const [of, setOf] = useState<Shown>();
  const user = who.data?.params;
  const own = user !== undefined && rights.data?.user === user.user;
  const foreign = user !== undefined && rights.data !== undefined && !own; // another user signed in, perhaps in another tab
  useEffect(() => {
    if (!foreign) return;
    forgetUser();
    void client.resetQueries();
  }, [foreign]);
  if (own && (of?.user !== user.user || of.minutes !== user.session_timeout)) setOf({ user: user.user, minutes: user.session_timeout });
  const shown = own && of?.user === user.user;
  return (
    <>
      {of && <Pages key={of.user} shown={shown} minutes={of.minutes} />}
      {!shown && (foreign ? <Waiting /> : <Instead who={who} rights={rights} ended={of !== undefined} />)}
    </>
  );
}

/** The user of the displayed pages, and the minutes of inactivity after which the session ends. */
type Shown = { user: string; minutes: number };
type QueryState = { isPending: boolean; errorUpdateCount: number; isSuccess: boolean; error: unknown; refetch: () => unknown };

/** Instead replaces the pages: the sign-in page, or the error that prevents a check of the session. */
function Instead({ who, rights, ended }: { who: QueryState; rights: QueryState; ended: boolean }) {
  if (isSigningOut() && who.errorUpdateCount > 0) return <StillSignedIn error={who.error} again={() => void who.refetch()} />;
  if (who.isPending || (who.isSuccess && rights.isPending)) return <Waiting />;
  if (signedOut(who.error)) return <SignIn ended={ended} />;
  if (who.error) return <Problem error={who.error} again={() => void who.refetch()} />;
  if (rights.error && !(rights.error instanceof Refused)) throw rights.error; // a fault of the GUI, for the boundary
  return <Problem error={rights.error} again={() => void rights.refetch()} />;
}

function Waiting() {
  return (
    <Center h="100vh">
      <Loader aria-label="…" />
    </Center>
  );
}
