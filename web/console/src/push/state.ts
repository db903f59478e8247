/** Whether notifications are on in this browser, and if they cannot be, why. */
import type { PushInfo, PushTestReport } from '../api/push';
import { countLabel } from '../ui/labels';
import type { RememberedSubscription } from './remembered';
import { isSameKey } from './server-key';

/** What the browser says. */
export interface BrowserState {
  /** Browsers offer web push only on pages over https, and on this machine. */
  isSecure: boolean;
  isSupported: boolean;
  isAppleTouchDevice: boolean;
  permission: NotificationPermission;
  /** The id of this browser at the server, if this user turned on notifications here. */
  subscriptionId: string | null;
}

/** Unless the operator switched web push off. */
export type EnabledPush = PushInfo & { publicKey: string };
export const isEnabled = (info: PushInfo): info is EnabledPush => info.publicKey != null;

export type PushState = 'switchedOff' | 'insecure' | 'homeScreenOnly' | 'unsupported' | 'denied' | 'off' | 'on';

export function pushState(browser: BrowserState, info: PushInfo): PushState {
  if (!isEnabled(info)) return 'switchedOff';
  if (!browser.isSecure) return 'insecure';
  if (!browser.isSupported) return browser.isAppleTouchDevice ? 'homeScreenOnly' : 'unsupported';
  if (browser.permission === 'denied') return 'denied';
  const isOn = browser.permission === 'granted' && info.subscriptions.some(({ id }) => id === browser.subscriptionId);
  return isOn ? 'on' : 'off';
}

/** Whether the browser, the server and this user's memory agree. */
export function isCurrent(
  subscription: Pick<PushSubscription, 'endpoint' | 'options'> | null,
  remembered: RememberedSubscription,
  { publicKey, subscriptions }: EnabledPush,
): boolean {
  return (
    subscription?.endpoint === remembered.endpoint &&
    subscriptions.some(({ id }) => id === remembered.id) &&
    isSameKey(subscription.options.applicationServerKey, publicKey)
  );
}

/** Whether the user removed this browser in another one, or with the command line: its own subscription is still the same. */
export function isRemovedElsewhere(
  subscription: Pick<PushSubscription, 'endpoint'> | null,
  remembered: RememberedSubscription,
  { subscriptions }: EnabledPush,
): boolean {
  return subscription?.endpoint === remembered.endpoint && !subscriptions.some(({ id }) => id === remembered.id);
}

export const STATE_TEXTS: Readonly<Record<PushState, string>> = {
  switchedOff: 'The operator of this server has switched web push off.',
  insecure:
    'Browsers allow notifications only on secure pages. Open the console over https, or under http://localhost if the server runs on this machine.',
  homeScreenOnly:
    'On iPhone and iPad, notifications work only from the Home Screen. Tap Share, then Add to Home Screen, and open the console from there.',
  unsupported: 'This browser does not support web push here. Use a current Chrome, Edge, Firefox or Safari, and not a private window.',
  denied:
    'This browser blocks notifications from this site. Open the site settings next to the address (in Safari: Settings, Websites, Notifications), allow notifications, and come back.',
  off: 'Turn them on to be notified when a call waits for your answer, also while the console is closed. Your browser asks for permission.',
  on: 'You are notified when a call waits for your answer, also while the console is closed, until you turn this off or sign out.',
};

export function testText({ sent, failed }: PushTestReport): string {
  if (sent + failed === 0) return 'No browser is subscribed.';
  const reached = sent === 0 ? '' : `Test notification sent to ${countLabel(sent, 'browser')}.`;
  const missed = failed === 0 ? '' : `${countLabel(failed, 'browser')} could not be reached.`;
  return [reached, missed].filter(Boolean).join(' ');
}
