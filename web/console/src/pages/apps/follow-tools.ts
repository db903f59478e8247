import { useEffect, useRef } from 'react';
import { queryClient } from '../../api/queries';
import { toolsQuery, type App } from './api';

/**
 * Reads the tools again when another version is in use, which the app says. Not while they are being edited: what was typed
 * would be lost.
 */
export function useFollowTools(app: App, version: number | undefined, mayRead: boolean): void {
  // Once for each version: the app may have been read before the tools, and then says an older one.
  const followed = useRef(app.toolsVersion);
  useEffect(() => {
    if (!mayRead || version === undefined || followed.current === app.toolsVersion) return;
    followed.current = app.toolsVersion;
    if (version !== app.toolsVersion) void queryClient.invalidateQueries({ queryKey: toolsQuery(app.packageName).queryKey });
  }, [app, version, mayRead]);
}
