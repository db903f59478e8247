/** Queries about the session. */
import { queryOptions } from '@tanstack/react-query';
import { api, responseData } from '../../api/client';
import type { CallSummary } from '../../api/calls';
import { getLibrary } from '../../api/console';
import { ApiError } from '../../api/error';
import type { components } from '../../api/schema';

export type RunningApp = components['schemas']['RunningApp'];

export interface InstalledApp {
  packageName: string;
  name: string;
  icon: string | null | undefined;
  /** Whether it can be opened; apps that only answer calls cannot. */
  opens: boolean;
  fits: boolean;
}

/** Null if there is no session. */
export const sessionQuery = queryOptions({
  queryKey: ['glasses', 'session'],
  queryFn: async ({ signal }) => {
    try {
      return await responseData(api.GET('/api/session', { signal }));
    } catch (error) {
      if (error instanceof ApiError && error.noSession) return null;
      throw error;
    }
  },
});

/** Maximum number of calls; the Activity page has all. */
const MAX_CALLS = 50;

/** The newest calls since a time, newest first. */
export async function getCallsSince(since: string, user: string | undefined): Promise<CallSummary[]> {
  const query = { since, limit: String(MAX_CALLS), ...(user !== undefined && { user }) };
  return (await responseData(api.GET('/api/calls', { params: { query } }))).calls;
}

/** Maximum number of listed apps. */
const MAX_APPS = 100;

export const installedQuery = queryOptions({
  queryKey: ['glasses', 'installed'],
  queryFn: async ({ signal }): Promise<InstalledApp[]> => {
    const [{ installs }, library] = await Promise.all([
      responseData(api.GET('/api/installs', { signal })),
      getLibrary({ limit: MAX_APPS }),
    ]);
    const known = new Map(library.apps.map((app) => [app.packageName, app]));
    return installs.slice(0, MAX_APPS).map(({ packageName }) => {
      const app = known.get(packageName);
      return {
        packageName,
        name: app?.name || packageName,
        icon: app?.iconUrl,
        opens: app === undefined ? !packageName.startsWith('mcp.') : app.kind === 'session',
        fits: app?.fit.fits ?? true,
      };
    });
  },
});

export const toolsQuery = queryOptions({
  queryKey: ['glasses', 'tools'],
  queryFn: async ({ signal }) => {
    try {
      return await responseData(api.GET('/api/tools', { params: { query: { hidden: 'true' } }, signal }));
    } catch (error) {
      if (error instanceof ApiError && error.noSession) return null;
      throw error;
    }
  },
});
