/** The subscription of this browser follows the session: it belongs to the user who is signed in. */
import { useEffect } from 'react';
import type { Me } from '../api/console';
import { PUSH_KEY, removeSubscriptionOf } from '../api/push';
import { meQuery, queryClient, useMe } from '../api/queries';
import { hasLapsed, onSignOut, ownSession, useLapsed, useSession } from '../api/session';
import { readRemembered } from './remembered';
import { dropSubscription, restoreSubscription } from './subscription';

/** An operator who acts for a user is notified only about calls of their own. */
export const isActing = ({ name, userId }: Pick<Me, 'name' | 'userId'>) => userId != null && userId !== name;

export const reloadPush = () => queryClient.invalidateQueries({ queryKey: [PUSH_KEY] });

/** Once for each session. Errors are not shown: the user did not ask for anything, and the settings show the state. */
export function usePushSession(): void {
  const me = useMe();
  const isLapsed = useLapsed();
  const session = useSession();
  const user = isActing(me) ? undefined : me.name;
  useEffect(() => {
    if (user === undefined || isLapsed) return;
    restoreSubscription(user).then(
      (isChanged) => void (isChanged && reloadPush()),
      () => undefined,
    );
  }, [user, isLapsed, session]);
}

// The next user of this browser must not see the questions of this one.
onSignOut(async (who) => {
  const user = queryClient.getQueryData(meQuery.queryKey)?.name;
  const remembered = user === undefined ? null : readRemembered(user);
  // A lapsed session would be refused. Without the subscription the push service refuses further messages, and the server then removes it.
  const removal = remembered !== null && !hasLapsed() ? removeSubscriptionOf(ownSession(who), remembered.id) : undefined;
  dropSubscription().catch(() => undefined);
  await removal?.catch(() => undefined);
});
