import { useEffect, useRef } from 'react';
import { queryClient } from '../../api/queries';
import { toolsQuery, type App } from './api';

/** Reloads the tools when the app reports another active version. Not while they are being edited, because the input would be lost. */
export function useFollowTools(app: App, version: number | undefined, mayRead: boolean): void {
  // Once per version: the app may have been loaded before the tools, and then reports an older version.
  const followed = useRef(app.toolsVersion);
  useEffect(() => {
    if (!mayRead || version === undefined || followed.current === app.toolsVersion) return;
    followed.current = app.toolsVersion;
    if (version !== app.toolsVersion) void queryClient.invalidateQueries({ queryKey: toolsQuery(app.packageName).queryKey });
  }, [app, version, mayRead]);
}
