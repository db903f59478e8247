import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ErrorBox, Loading } from '../../../ui/feedback';
import { toolsQuery, type App } from '../api';
import { useFollowTools } from '../follow-tools';
import { Editor } from './editor';

/** The tools are read once and edited; what others save meanwhile is found when somebody saves. */
export function ToolsTab({ app }: { app: App }) {
  const set = useQuery({
    ...toolsQuery(app.packageName),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  // Saving reads the tools anew; the one that was open stays open.
  const open = useRef('');
  const [isDirty, setDirty] = useState(false);
  useFollowTools(app, set.data?.version, !isDirty);
  if (set.isPending) return <Loading what="the tools" />;
  if (set.data === undefined) return <ErrorBox error={set.error} onRetry={() => void set.refetch()} />;
  return <Editor key={`${set.data.version}-${set.dataUpdatedAt}`} app={app} set={set.data} open={open} onDirty={setDirty} />;
}
