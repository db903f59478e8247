/** Notifications about approvals: on or off in this browser, and the user's browsers that have them on. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { pushQuery, sendTest, type PushInfo, type PushSubscriptionInfo } from '../../api/push';
import { useMe } from '../../api/queries';
import { isActing, reloadPush } from '../../push/session';
import { isEnabled, pushState, STATE_TEXTS, testText, type BrowserState, type EnabledPush } from '../../push/state';
import { browserQuery, onPermissionChange, removeBrowser, turnOff, turnOn } from '../../push/subscription';
import { Button } from '../../ui/button';
import { Badge, ErrorBox, Loading } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';

const TITLE = 'Notifications in this browser';

export function Notifications() {
  const me = useMe();
  if (!isActing(me)) return <OwnNotifications user={me.name} />;
  return (
    <Card title={TITLE}>
      <p className="flat">
        You act for {me.userId}. Only {me.userId} can be notified of these approvals. To change your own notifications, act for yourself.
      </p>
    </Card>
  );
}

function OwnNotifications({ user }: { user: string }) {
  const info = useQuery(pushQuery);
  const browser = useQuery(browserQuery(user));
  useEffect(() => onPermissionChange(() => void reloadPush()), []);
  const error = info.error ?? browser.error;
  if (info.data === undefined || browser.data === undefined) {
    return error ? <ErrorBox error={error} onRetry={() => void reloadPush()} /> : <Loading what="notifications" />;
  }
  return (
    <>
      <ThisBrowser user={user} info={info.data} browser={browser.data} />
      {isEnabled(info.data) && <Browsers user={user} subscriptions={info.data.subscriptions} thisOne={browser.data.subscriptionId} />}
    </>
  );
}

function ThisBrowser({ user, info, browser }: { user: string; info: PushInfo; browser: BrowserState }) {
  const state = pushState(browser, info);
  const isOn = state === 'on';
  const canChange = isOn || state === 'off';
  return (
    <Card title={TITLE} actions={<Badge kind={isOn ? 'good' : 'plain'}>{isOn ? 'on' : 'off'}</Badge>}>
      <p>{STATE_TEXTS[state]}</p>
      {isEnabled(info) && canChange && <Actions user={user} push={info} isOn={isOn} />}
      {canChange && (
        <p className="muted flat below">
          A notification shows the call and its arguments, also on a locked screen. It is encrypted for this browser: the push service of
          its vendor cannot read it.
        </p>
      )}
    </Card>
  );
}

function Actions({ user, push, isOn }: { user: string; push: EnabledPush; isOn: boolean }) {
  const change = useMutation({
    mutationFn: async () => {
      if (!isOn) return (await turnOn(user, push)) ? 'Notifications are on in this browser.' : 'The browser did not allow notifications.';
      await turnOff(user);
      return 'Notifications are off in this browser.';
    },
    onSuccess: (text) => toast(text),
    onError: toastError,
    onSettled: reloadPush,
  });
  const test = useMutation({
    mutationFn: sendTest,
    onSuccess: (report) => toast(testText(report), report.failed > 0),
    onError: toastError,
    onSettled: reloadPush,
  });
  // Not disabled while they work: a disabled button loses the focus.
  return (
    <div className="row">
      <Button kind={isOn ? 'plain' : 'primary'} aria-disabled={change.isPending} onClick={() => void (change.isPending || change.mutate())}>
        {isOn ? 'Turn off' : 'Turn on notifications'}
      </Button>
      {isOn && (
        <Button aria-disabled={test.isPending} onClick={() => void (test.isPending || test.mutate())}>
          Send a test notification
        </Button>
      )}
    </div>
  );
}

interface BrowsersProps {
  user: string;
  subscriptions: readonly PushSubscriptionInfo[];
  /** The id of this browser. */
  thisOne: string | null;
}

function Browsers({ user, subscriptions, thisOne }: BrowsersProps) {
  const list = useRef<HTMLUListElement>(null);
  const remove = useMutation({
    mutationFn: ({ id }: PushSubscriptionInfo) => (id === thisOne ? turnOff(user) : removeBrowser(id)),
    onSuccess: (_, { label }) => {
      list.current?.focus();
      toast(`${label} is no longer notified.`);
    },
    onError: toastError,
    onSettled: reloadPush,
  });
  return (
    <section aria-labelledby="push-browsers">
      <h2 id="push-browsers" className="list-title">
        Your browsers
      </h2>
      {subscriptions.length === 0 && <p className="muted">Notifications are off in all your browsers.</p>}
      <ul ref={list} className="plain-list" aria-labelledby="push-browsers" tabIndex={-1}>
        {subscriptions.map((one) => (
          <li key={one.id} className="card row between">
            <div className="grow">
              <h3 className="row">
                {one.label} {one.id === thisOne && <Badge kind="accent">this browser</Badge>}
              </h3>
              <p className="muted flat anywhere browser-facts">
                Push service {one.host}. Added <Ago at={one.createdAt} />,{' '}
                {one.lastSentAt == null ? (
                  'nothing sent yet'
                ) : (
                  <>
                    last sent <Ago at={one.lastSentAt} />
                  </>
                )}
                .
              </p>
              {one.problem != null && <p className="problem flat">The last message was not accepted: {one.problem}</p>}
            </div>
            <Button small kind="danger" disabled={remove.isPending} onClick={() => remove.mutate(one)} aria-label={`Remove ${one.label}`}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
