/** Web push: the types of the server's `push` module, and its routes as functions. */
import { queryOptions } from '@tanstack/react-query';
import { get, send } from './console';
import type { components } from './schema';
import { credentials, type Session } from './session';

type Schemas = components['schemas'];

export type PushInfo = Schemas['PushInfo'];
export type PushSubscriptionInfo = Schemas['PushSubscriptionInfo'];
export type NewPushSubscription = Schemas['NewPushSubscription'];
export type PushTestReport = Schemas['PushTestReport'];

const ROOT = '/api/push';
const at = (id: string) => `${ROOT}/subscriptions/${encodeURIComponent(id)}`;

/** The first part of all keys of queries about web push. */
export const PUSH_KEY = 'push';
export const pushQuery = queryOptions({ queryKey: [PUSH_KEY, 'server'], queryFn: ({ signal }) => getPush(signal) });

export const getPush = (signal?: AbortSignal) => get<PushInfo>(ROOT, {}, signal);
export const addSubscription = (body: NewPushSubscription) => send<PushSubscriptionInfo>('POST', `${ROOT}/subscriptions`, body);
export const removeSubscription = (id: string) => send<void>('DELETE', at(id));
export const sendTest = () => send<PushTestReport>('POST', `${ROOT}/test`);

/** For a session that is being left: the response is not awaited, and the page may be closed meanwhile. */
export async function removeSubscriptionOf(who: Session, id: string): Promise<void> {
  await fetch(at(id), { method: 'DELETE', headers: credentials(who), keepalive: true });
}
