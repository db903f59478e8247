/** The frame of a page that asks for one decision: without navigation. */
import type { ReactNode, RefObject } from 'react';

/** The page where a user decides about a client. */
export const AUTHORIZE_PATH = '/authorize';
/** The page where a user decides about a program on a device. */
export const DEVICE_PATH = '/device';

const REASONS: ReadonlyMap<string, string> = new Map([
  [AUTHORIZE_PATH, 'A client asks for access to your tools. Sign in to decide.'],
  [DEVICE_PATH, 'A program on a device wants to sign in with your account. Sign in to decide.'],
]);

/** Why a user must sign in for a page that asks for one decision. Undefined for other pages. */
export const focusedReason = (path: string) => REASONS.get(path);

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
