/** The frame around each page: navigation, the signed-in user, and the sign-in form. */
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { Menu, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Me, Role } from '../api/console';
import { ApiError } from '../api/error';
import { useLiveLists } from '../api/live-lists';
import { meQuery } from '../api/queries';
import { pendingQuery } from '../approvals/queries';
import { useApprovalEvents } from '../approvals/watch';
import { cookieSession, signIn, signOut, useLapsed, useSession, type Session } from '../api/session';
import { leave } from '../api/sign-out';
import { useNotificationClicks } from '../push/clicks';
import { usePushSession } from '../push/session';
import { Button } from '../ui/button';
import { FreshSignIn } from '../sign-in/fresh';
import { ErrorBox, Loading } from '../ui/feedback';
import { toastError } from '../ui/toast';
import { useDismiss } from '../ui/use-dismiss';
import { FocusedFrame, focusedReason } from './focused-frame';
import { PAGES, SIGN_IN_ROUTE } from './pages';
import { SignIn } from './sign-in';
import { SignInAgain } from './sign-in-again';
import { SignedInPage } from './signed-in';
import { StartOver, type Next } from './start-over';
import { TokenEnd } from './token-end';
import { useArrival } from './use-arrival';
import { UserMenu } from './user-menu';

export function Shell() {
  const session = useSession();
  const lapsed = useLapsed();
  const [next, setNext] = useState<Next>();
  const me = useQuery(meQuery);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  // On a phone the menu covers the page: everything outside of its list is outside of the menu.
  const [list, opener] = [useRef<HTMLUListElement>(null), useRef<HTMLButtonElement>(null)];
  useDismiss({ open, onClose: () => setOpen(false), inside: [list, opener], opener });
  useArrival(main);
  useNotificationClicks();
  const isAdopting = useCookieUser(session, me.data);

  if (next !== undefined) return <StartOver next={next} />;
  if (me.isPending || isAdopting) return <Loading what="Toolyard" />;
  // The sign-in form takes the place of the page, and the address stays.
  const reason = focusedReason(path);
  const isFocused = reason !== undefined;
  if (me.error instanceof ApiError && me.error.status === 401) return <SignIn mode="token" reason={reason} />;
  // Once the user is known, a query that fails later does not remove the page.
  if (me.data === undefined) {
    return (
      <main className="sign-in" id="main">
        <h1>Toolyard</h1>
        <ErrorBox error={me.error} onRetry={() => void me.refetch()} />
        {session !== null && (
          <Button onClick={() => void leave().catch(toastError)}>{session.kind === 'dev' ? 'Switch user' : 'Sign out'}</Button>
        )}
      </main>
    );
  }
  if (me.data.authMode === 'dev' && session === null) return <SignIn mode="dev" reason={reason} />;
  if (path === SIGN_IN_ROUTE) return <SignedInPage me={me.data} />;
  const startOver = (session: Session, remember: boolean) => setNext({ session, remember, keepsPage: isFocused });
  const signInAgain = lapsed ? (
    <SignInAgain me={me.data} onOther={startOver} />
  ) : (
    <FreshSignIn me={me.data} onOther={(session) => startOver(session, true)} />
  );
  if (isFocused) {
    return (
      <FocusedFrame main={main}>
        <LiveLists />
        <Outlet />
        {signInAgain}
      </FocusedFrame>
    );
  }

  const pages = PAGES.filter(({ roles }) => roles === undefined || (roles as readonly Role[]).includes(me.data.role));
  const here = pages.find((page) => path.startsWith(page.to));
  return (
    <div className="shell">
      <LiveLists />
      {/* biome-ignore lint/a11y/useValidAnchor: it links to a place on this page, and also moves the focus there */}
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        Skip to content
      </a>
      <header className="topbar">
        <button
          ref={opener}
          type="button"
          className="icon-button menu-button"
          aria-expanded={open}
          aria-controls="nav"
          onClick={() => setOpen(!open)}
        >
          {open ? <X aria-hidden /> : <Menu aria-hidden />}
          <PendingDot />
          <span className="hidden">Menu</span>
        </button>
        <Link to="/chat" className="brand">
          <img src="/console/icon.svg" alt="" width="26" height="26" />
          <span>Toolyard</span>
        </Link>
        <span className="topbar-page">{here?.name}</span>
        <UserMenu me={me.data} />
      </header>
      <nav id="nav" className={open ? 'nav open' : 'nav'} aria-label="Pages">
        <ul ref={list}>
          {pages.map(({ to, name, icon: Icon }) => (
            <li key={to}>
              <Link to={to} className="nav-link" activeProps={{ className: 'nav-link here', 'aria-current': 'page' }}>
                <Icon aria-hidden size={18} />
                {name}
                {to === '/approvals' && <PendingCount />}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <TokenEnd me={me.data} />
        <Outlet />
      </main>
      {signInAgain}
    </div>
  );
}

/**
 * The session follows the cookie, which an issuer's redirect or another tab may have set. Returns whether the session is about to change,
 * so that nothing of one user is shown to another.
 */
function useCookieUser(session: Session | null, me: Me | undefined): boolean {
  const user = me?.session == null ? undefined : me.name;
  const isNew = user !== undefined && (session === null || (session.kind === 'cookie' && session.user !== user));
  // In dev mode requests without a valid cookie are not rejected.
  const isGone = me !== undefined && user === undefined && session?.kind === 'cookie';
  useEffect(() => {
    if (isNew) signIn(cookieSession(user), true);
    else if (isGone) signOut('ended');
  }, [isNew, isGone, user]);
  return isNew || isGone;
}

/** Only if a user is signed in. */
function LiveLists() {
  useLiveLists();
  useApprovalEvents();
  usePushSession();
  return null;
}

/** The number of approvals that wait for the user. */
function PendingCount() {
  const { data } = useQuery(pendingQuery);
  if (data === undefined || data.length === 0) return null;
  return (
    <span className="badge count">
      {data.length}
      <span className="hidden"> waiting</span>
    </span>
  );
}

/** On a phone the menu hides the number; the dot says that there is one. */
function PendingDot() {
  const { data } = useQuery(pendingQuery);
  return data !== undefined && data.length > 0 ? <span className="pending-dot" aria-hidden /> : null;
}
