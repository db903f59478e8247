/** The frame of a page that asks for one decision: without navigation. */
import type { ReactNode, RefObject } from 'react';

/** The page where a user decides about a client. */
export const AUTHORIZE_PATH = '/authorize';
/** The page where a user decides about a program on a device. */
export const DEVICE_PATH = '/device';
/** The page where a user signs in to an upstream. */
export const UPSTREAM_SIGN_IN_PATH = '/upstreams/$id/sign-in';

const REASONS: readonly { path: string; reason: string }[] = [
  { path: AUTHORIZE_PATH, reason: 'A client asks for access to your tools. Sign in to decide.' },
  { path: DEVICE_PATH, reason: 'A program on a device wants to sign in with your account. Sign in to decide.' },
  { path: UPSTREAM_SIGN_IN_PATH, reason: 'An MCP server needs you to sign in there. Sign in to Toolyard first.' },
];

/** Why a user must sign in for a page that asks for one decision. Undefined for other pages. */
export const focusedReason = (path: string) => REASONS.find((page) => matchesRoute(page.path, path))?.reason;

/** Segments of a route that start with `$` match any text. */
function matchesRoute(route: string, path: string): boolean {
  const [expected, found] = [route.split('/'), path.split('/')];
  return (
    expected.length === found.length &&
    expected.every((part, place) => part === found[place] || (part.startsWith('$') && found[place] !== ''))
  );
}

export function FocusedFrame({ main, children }: { main: RefObject<HTMLElement | null>; children: ReactNode }) {
  return (
    <div className="focused">
      <header>
        <img src="/console/icon.svg" alt="" width="26" height="26" />
        Toolyard
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
