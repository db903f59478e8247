import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ErrorBox, Loading } from '../../../ui/feedback';
import { toolsQuery, type App } from '../api';
import { useFollowTools } from '../follow-tools';
import { Editor } from './editor';

/** The tools are loaded once and edited. Conflicts with other saves are detected when saving. */
export function ToolsTab({ app }: { app: App }) {
  const set = useQuery({
    ...toolsQuery(app.packageName),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  // Saving reloads the tools; the open tool stays open.
  const open = useRef('');
  const [isDirty, setDirty] = useState(false);
  useFollowTools(app, set.data?.version, !isDirty);
  if (set.isPending) return <Loading what="the tools" />;
  if (set.data === undefined) return <ErrorBox error={set.error} onRetry={() => void set.refetch()} />;
  return <Editor key={`${set.data.version}-${set.dataUpdatedAt}`} app={app} set={set.data} open={open} onDirty={setDirty} />;
}
