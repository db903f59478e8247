import { useEffect, type ReactNode } from 'react';

/** The frame of the sign-in page. */
export function SignInFrame({ children }: { children: ReactNode }) {
  useEffect(() => {
    document.title = 'Sign in · Toolyard';
  }, []);
  return (
    <main className="sign-in" id="main">
      <img src="/console/icon.svg" alt="" width="44" height="44" />
      <h1>Toolyard</h1>
      {children}
    </main>
  );
}
