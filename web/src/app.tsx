import { Center, Loader, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { useEffect, useState } from 'react';
import { Refused, signedOut } from './api/client';
import { useLive } from './api/live';
import { queries } from './api/queries';
import { ConfirmDialog } from './session/confirm-dialog';
import { forgetUser, keepData } from './session/pages-kept';
import { ShownOnce } from './session/shown-once';
import { SignIn } from './session/sign-in';
import { theme } from './theme';
import { Boundary } from './ui/boundary';
import { late } from './ui/late';
import { Problem } from './ui/problem';

/** Whatever needs a session: the sign-in is there before it. */
const Pages = late(async () => (await import('./pages')).Pages, <Waiting />);

/** A session that ended is noticed by whichever call meets it: who is there is asked anew. */
const ended = (error: unknown) => {
  if (!signedOut(error) || !client.getQueryData(queries.who.queryKey)) return;
  keepData(client);
  void client.resetQueries({ queryKey: queries.who.queryKey });
};

const client = new QueryClient({
  queryCache: new QueryCache({ onError: ended }),
  mutationCache: new MutationCache({ onError: ended }),
  defaultOptions: {
    // Always: a browser that believes it is offline holds calls back, and makes a change that was meant for now when it believes otherwise.
    mutations: { networkMode: 'always' },
    queries: { networkMode: 'always', refetchOnReconnect: (query) => query.state.status === 'error', retry: (count, error) => !(error instanceof Refused && error.status > 0) && count < 3, staleTime: 2_000 },
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

/**
 * Authenticated shows the pages to who is signed in, and the sign-in to everybody else. Pages that were shown when
 * the session ended are hidden meanwhile: the same user finds them as they were, with all that was typed.
 */
function Authenticated() {
  const who = useQuery(queries.who);
  const rights = useQuery({ ...queries.rights, enabled: who.isSuccess });
  useLive(who.isSuccess);
  const known = !who.isPending;
  useEffect(() => {
    if (known) void Pages.preload(); // while rights are asked for, or a password is typed
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

/** Whose pages are shown, and after how many minutes without use the session ends. */
type Shown = { user: string; minutes: number };
type Asked = { isPending: boolean; isSuccess: boolean; error: unknown; refetch: () => unknown };

/** Instead stands in place of the pages: the sign-in, or why it is not known who is there. */
function Instead({ who, rights, ended }: { who: Asked; rights: Asked; ended: boolean }) {
  if (who.isPending || (who.isSuccess && rights.isPending)) return <Waiting />;
  if (signedOut(who.error)) return <SignIn ended={ended} />;
  if (who.error) return <Problem error={who.error} again={() => void who.refetch()} />;
  if (rights.error && !(rights.error instanceof Refused)) throw rights.error; // a fault of the GUI: for the boundary
  return <Problem error={rights.error} again={() => void rights.refetch()} />;
}

function Waiting() {
  return (
    <Center h="100vh">
      <Loader aria-label="…" />
    </Center>
  );
}
