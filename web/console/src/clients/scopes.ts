/** The permissions of clients (OAuth scopes) in words. */
import { joinList } from '../ui/labels';

export interface ScopeText {
  title: string;
  explanation: string;
  /** Shown while it is selected. */
  warning?: string;
}

/** Each contains the ones before it. */
export const TOOL_SCOPES = ['tools:read', 'tools:write', 'tools:destructive'] as const;

/** Who the user is. Shown as one permission. */
const IDENTITY: Readonly<Record<string, string>> = { openid: 'your user id', profile: 'your name', email: 'your email address' };

/** A refresh token. Shown as a duration, not as a permission. */
export const OFFLINE_ACCESS = 'offline_access';

const APP_PREFIX = 'apps:';

const TEXTS: Readonly<Record<string, ScopeText>> = {
  'tools:read': { title: 'Read', explanation: 'Call tools that only read.' },
  'tools:write': { title: 'Change', explanation: 'Call tools that add or change something.' },
  'tools:destructive': {
    title: 'Delete',
    explanation: 'Call tools that delete something or cannot be undone.',
    warning: 'Deleted data may be lost. Select this only if you trust the client.',
  },
  chat: { title: 'Chat', explanation: 'Send messages to the models of this server.' },
  account: {
    title: 'Manage your account',
    explanation: 'Install and remove apps, change settings and plugins, see your calls.',
    warning: 'The client can change what your other assistants can use.',
  },
};

/** The text of a permission. Scopes of a newer server are shown by their name. */
export function scopeText(scope: string): ScopeText {
  return TEXTS[scope] ?? { title: scope, explanation: 'This console has no description of this permission.' };
}

export const isIdentityScope = (scope: string) => scope in IDENTITY;

/** Whether it is an app, which is not shown as a permission. */
export const isAppScope = (scope: string) => scope.startsWith(APP_PREFIX);

export function identityText(scopes: readonly string[]): ScopeText {
  const facts = scopes.flatMap((scope) => IDENTITY[scope] ?? []);
  return { title: 'Know who you are', explanation: `See ${joinList(facts)}.` };
}

const TOOL_VERBS: Readonly<Record<string, string>> = { 'tools:read': 'read', 'tools:write': 'change', 'tools:destructive': 'delete' };

/** What a client may do, in short phrases. */
export function scopeSummary(scopes: readonly string[]): string[] {
  const verbs = toolScopesUpTo(scopes).flatMap((scope) => TOOL_VERBS[scope] ?? []);
  const others = scopes.filter(
    (scope) => !(scope in TOOL_VERBS) && scope !== OFFLINE_ACCESS && !isIdentityScope(scope) && !isAppScope(scope),
  );
  return [
    ...(verbs.length > 0 ? [`Call tools that ${joinList(verbs)}`] : []),
    ...others.map((scope) => scopeText(scope).title),
    ...(scopes.some(isIdentityScope) ? [identityText(scopes).title] : []),
  ];
}

/** The highest scope for tools among these, and all that it contains. */
export function toolScopesUpTo(scopes: readonly string[]): string[] {
  return TOOL_SCOPES.slice(0, TOOL_SCOPES.findLastIndex((scope) => scopes.includes(scope)) + 1);
}
