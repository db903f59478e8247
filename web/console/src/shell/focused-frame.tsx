/** The frame of a page that asks for one decision: without navigation. */
import type { ReactNode, RefObject } from 'react';

/** The page where a user decides about a client. */
export const FOCUSED_PATH = '/authorize';

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
