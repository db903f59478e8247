/** What the user selects before a client connects. It can only be less than what the client asks for. */
import type { ConsentApp, ConsentDecision, ConsentInfo } from '../api/clients';
import { foreignName } from '../ui/labels';
import { isAppScope, isIdentityScope, OFFLINE_ACCESS, TOOL_SCOPES, toolScopesUpTo } from './scopes';

export interface ConsentSelection {
  scopes: ReadonlySet<string>;
  /** `all` includes apps that are installed later. */
  appMode: 'all' | 'some';
  /** Packages, for `some`. */
  apps: ReadonlySet<string>;
  days: number;
}

/** The server's limit for the apps of one client. */
export const MAX_APPS = 50;

/** The permissions to choose from, in the order of the page. A scope for tools can be narrowed to the ones that it contains. */
export function offeredScopes({ scopes }: Pick<ConsentInfo, 'scopes'>): string[] {
  const others = scopes.filter((scope) => !isToolScope(scope) && !isIdentityScope(scope) && !isAppScope(scope) && scope !== OFFLINE_ACCESS);
  return [...toolScopesUpTo(scopes), ...new Set(others)];
}

const isToolScope = (scope: string) => (TOOL_SCOPES as readonly string[]).includes(scope);

export const identityScopes = ({ scopes }: Pick<ConsentInfo, 'scopes'>) => scopes.filter(isIdentityScope);

/** Selects or clears a permission. Each scope for tools needs the ones that it contains. */
export function toggleScope(selected: ReadonlySet<string>, scope: string, on: boolean): ReadonlySet<string> {
  const next = new Set(selected);
  const level = (TOOL_SCOPES as readonly string[]).indexOf(scope);
  const affected = level < 0 ? [scope] : on ? TOOL_SCOPES.slice(0, level + 1) : TOOL_SCOPES.slice(level);
  for (const one of affected) {
    if (on) next.add(one);
    else next.delete(one);
  }
  return next;
}

export interface AppOptions {
  /** The client did not ask for certain apps. */
  canBeAll: boolean;
  apps: readonly ConsentApp[];
  /** Packages that the client asks for and the user does not have. */
  missing: readonly string[];
}

export function appOptions({ apps, requestedApps }: Pick<ConsentInfo, 'apps' | 'requestedApps'>): AppOptions {
  if (requestedApps.length === 0) return { canBeAll: true, apps, missing: [] };
  const own = new Set(apps.map((app) => app.package));
  return {
    canBeAll: false,
    apps: apps.filter((app) => requestedApps.includes(app.package)),
    missing: requestedApps.filter((one) => !own.has(one)),
  };
}

export function toggleApp(selected: ReadonlySet<string>, app: string, on: boolean): ReadonlySet<string> {
  const next = new Set(selected);
  if (on) next.add(app);
  else next.delete(app);
  return next;
}

/** Everything that the client asks for. */
export function initialSelection(info: ConsentInfo): ConsentSelection {
  const { canBeAll, apps } = appOptions(info);
  return {
    scopes: new Set([...offeredScopes(info), ...identityScopes(info)]),
    appMode: canBeAll ? 'all' : 'some',
    apps: new Set(canBeAll ? [] : apps.map((app) => app.package)),
    days: Math.min(info.days, info.maxDays),
  };
}

/** Apps matter only for tools. */
export const usesTools = (scopes: Iterable<string>) => [...scopes].some(isToolScope);

/** Why the selection cannot be sent. */
export function selectionProblem({ scopes, appMode, apps }: ConsentSelection): string | undefined {
  if (scopes.size === 0) return 'Select at least one permission, or cancel.';
  if (appMode === 'all' || !usesTools(scopes)) return undefined;
  if (apps.size === 0) return 'Select at least one app, or cancel.';
  return apps.size > MAX_APPS ? `Select at most ${MAX_APPS} apps, or all of them.` : undefined;
}

export function approvalOf(request: string, info: ConsentInfo, selection: ConsentSelection): ConsentDecision {
  const chosen = [...offeredScopes(info), ...identityScopes(info)].filter((scope) => selection.scopes.has(scope));
  return {
    request,
    approve: true,
    scopes: info.scopes.includes(OFFLINE_ACCESS) ? [...chosen, OFFLINE_ACCESS] : chosen,
    apps: selection.appMode === 'all' ? null : [...selection.apps],
    days: selection.days,
  };
}

const DURATIONS = [1, 30, 90, 365];

/** The durations in days that the server accepts, always with its default. */
export function durationOptions({ days, maxDays }: Pick<ConsentInfo, 'days' | 'maxDays'>): number[] {
  const all = new Set([...DURATIONS.filter((one) => one <= maxDays), Math.min(days, maxDays)]);
  return [...all].sort((one, other) => one - other);
}

export const clientName = (name: string) => foreignName(name, 'Unnamed client');

/** The host of a URL, if it is one. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host || undefined : undefined;
}

/** Schemes that would run or show something in the name of this page. All others are the client's choice, checked by the server. */
const UNSAFE_SCHEMES: ReadonlySet<string> = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'about:', 'view-source:']);

export function isSafeRedirect(url: string): boolean {
  return URL.canParse(url) && !UNSAFE_SCHEMES.has(new URL(url).protocol);
}
