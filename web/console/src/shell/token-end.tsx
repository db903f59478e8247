/** Warns before the token or the browser session ends, while there is still time to save. */
import { useEffect, useState } from 'react';
import type { Me } from '../api/console';
import { meQuery, queryClient } from '../api/queries';
import { Notice } from '../ui/feedback';
import { endsSoon } from './ends-soon';

const LOOK_MS = 10_000;
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

export function TokenEnd({ me }: { me: Me }) {
  const endsAt = me.session == null ? me.tokenEndsAt : me.session.endsAt;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (endsAt == null) return;
    const timer = setInterval(() => setNow(Date.now()), LOOK_MS);
    return () => clearInterval(timer);
  }, [endsAt]);
  const over = endsAt != null && Date.parse(endsAt) <= now;
  useEffect(() => {
    // Ask the server, because this clock may be fast. An expired token is then reported above the page, before a save fails.
    if (over) void queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
  }, [over, now]);
  if (endsAt == null || !endsSoon(endsAt, now)) return null;
  return (
    <div className="token-end">
      <Notice kind="warn">
        {me.session == null
          ? `Your token expires at ${TIME.format(new Date(endsAt))}. Save your work, then sign in with a new one.`
          : `Your session ends at ${TIME.format(new Date(endsAt))}. Save your work, then sign in again.`}
      </Notice>
    </div>
  );
}
