/** Installed plugins as they are now: read and judged again. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { told } from '../api/error';
import { currentTrust, trustQuery, type Trust } from './roots';
import { useInstalled, type Installed } from './store';
import { judge, type Verdict } from './trust/judge';
import { readManifest, type Manifest } from './trust/manifest';
import { within, type Permissions } from './trust/permissions';

export interface Judged {
  plugin: Installed;
  /** Null where it cannot even be read any more. */
  manifest: Manifest | null;
  verdict: Verdict | null;
  /** Whether its tools can be called. */
  runs: boolean;
  /** What it gets: the least of what the signature stands for, what it asks for and what the user agreed to. */
  permissions: Permissions;
  why: string;
}

const NOTHING: Permissions = { network: [], storage: false, clock: false };

export async function judgeInstalled(plugin: Installed, trust: Trust, now = Date.now()): Promise<Judged> {
  let manifest: Manifest;
  try {
    manifest = readManifest(plugin.raw);
    if (manifest.id !== plugin.id) throw new Error('this is not what was installed');
  } catch (error) {
    return {
      plugin,
      manifest: null,
      verdict: null,
      runs: false,
      permissions: NOTHING,
      why: error instanceof Error ? error.message : String(error),
    };
  }
  const allowed = plugin.unsignedAllowed ? [{ id: plugin.id, contentHash: plugin.hash, permissions: plugin.agreed }] : [];
  const { keys, revocations } = trust;
  const verdict = await judge(manifest, { keys, revocations, allowed, pinned: plugin.hash, now });
  const runs = verdict.runs && plugin.enabled;
  return { plugin, manifest, verdict, runs, permissions: within(verdict.permissions, plugin.agreed), why: verdict.reason };
}

/** A manifest that is not installed yet. */
export async function judgeNew(manifest: Manifest): Promise<Verdict> {
  const { keys, revocations } = await currentTrust();
  return judge(manifest, { keys, revocations, allowed: [], pinned: null, now: Date.now() });
}

/** One that cannot be judged here: it can be looked at and uninstalled. */
function unjudged(plugin: Installed, why: string): Judged {
  let manifest: Manifest | null = null;
  try {
    manifest = readManifest(plugin.raw);
  } catch {
    // Then it is shown by its id.
  }
  return { plugin, manifest, verdict: null, runs: false, permissions: NOTHING, why };
}

/** All of them; undefined while they are looked at. */
export function useJudged(): readonly Judged[] | undefined {
  const plugins = useInstalled();
  const { data: trust, error } = useQuery(trustQuery);
  const [judged, setJudged] = useState<readonly Judged[]>();
  useEffect(() => {
    let left = false;
    const show = (all: readonly Judged[]) => {
      if (!left) setJudged(all);
    };
    if (trust !== undefined) void Promise.all(plugins.map((plugin) => judgeInstalled(plugin, trust))).then(show);
    else if (error !== null) show(plugins.map((plugin) => unjudged(plugin, told(error).replace(/\.$/, ''))));
    return () => {
      left = true;
    };
  }, [plugins, trust, error]);
  return judged;
}
