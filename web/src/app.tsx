import { Center, Loader, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { useCallback } from 'react';
import { Refused, signedOut } from './api/client';
import { useLive } from './api/live';
import { queries } from './api/queries';
import { router } from './router';
import { ConfirmDialog } from './session/confirm-dialog';
import { IdleDialog } from './session/idle-dialog';
import { signOut } from './session/session';
import { ShownOnce } from './session/shown-once';
import { SignIn } from './session/sign-in';
import { theme } from './theme';
import { Boundary } from './ui/boundary';
import { Problem } from './ui/problem';

/** A session that ended is noticed by whichever call meets it: who is there is asked anew. */
const ended = (error: unknown) => {
  if (signedOut(error) && client.getQueryData(queries.who.queryKey)) void client.resetQueries({ queryKey: queries.who.queryKey });
};

const client = new QueryClient({
  queryCache: new QueryCache({ onError: ended }),
  mutationCache: new MutationCache({ onError: ended }),
  defaultOptions: {
    // Always: a browser that believes it is offline holds calls back, and makes a change that was meant for now when it believes otherwise.
    mutations: { networkMode: 'always' },
    queries: { networkMode: 'always', retry: (count, error) => !(error instanceof Refused && error.status > 0) && count < 3, staleTime: 2_000 },
  },
});

/** The number styles carry that scripts add: those of Mantine, and of what it keeps pages from scrolling with. */
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

/** Authenticated shows the pages to who is signed in, and the sign-in to everybody else. */
function Authenticated() {
  const who = useQuery(queries.who);
  const rights = useQuery({ ...queries.rights, enabled: who.isSuccess });
  useLive(who.isSuccess);
  if (who.isPending || (who.isSuccess && rights.isPending)) {
    return (
      <Center h="100vh">
        <Loader aria-label="…" />
      </Center>
    );
  }
  if (signedOut(who.error)) return <SignIn />;
  if (who.error) return <Problem error={who.error} again={() => void who.refetch()} />;
  if (rights.error && !(rights.error instanceof Refused)) throw rights.error; // a fault of the GUI: for the boundary
  if (!rights.data) return <Problem error={rights.error} again={() => void rights.refetch()} />;
  return (
    <>
      <RouterProvider router={router} />
      <Idle minutes={who.data.params.session_timeout} />
    </>
  );
}

/** Idle ends the session of who has left, and shows the sign-in where he was. */
function Idle({ minutes }: { minutes: number }) {
  const end = useCallback(() => {
    void signOut()
      .catch(() => undefined) // the session may have ended already
      .then(() => client.resetQueries({ queryKey: queries.who.queryKey }));
  }, []);
  return <IdleDialog minutes={minutes} end={end} />;
}
