/** The installed plugins with their current verdict. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { errorText } from '../api/error';
import { currentTrust, trustQuery, type TrustState } from './roots';
import { useInstalled, type InstalledPlugin } from './store';
import { judge, type Verdict } from './trust/judge';
import { readManifest, type Manifest } from './trust/manifest';
import { intersectPermissions, type Permissions } from './trust/permissions';

export interface JudgedPlugin {
  plugin: InstalledPlugin;
  /** Null if it can no longer be parsed. */
  manifest: Manifest | null;
  verdict: Verdict | null;
  /** Whether its tools can be called. */
  runs: boolean;
  /** Its permissions: the intersection of what the signature covers, the manifest requests and the user agreed to. */
  permissions: Permissions;
  why: string;
}

const NOTHING: Permissions = { network: [], storage: false, clock: false };

export async function judgeInstalled(plugin: InstalledPlugin, trust: TrustState, now = Date.now()): Promise<JudgedPlugin> {
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
  return { plugin, manifest, verdict, runs, permissions: intersectPermissions(verdict.permissions, plugin.agreed), why: verdict.reason };
}

/** Verifies a manifest that is not installed yet. */
export async function judgeNew(manifest: Manifest): Promise<Verdict> {
  const { keys, revocations } = await currentTrust();
  return judge(manifest, { keys, revocations, allowed: [], pinned: null, now: Date.now() });
}

/** A plugin that cannot be verified here: it can only be viewed and uninstalled. */
function unjudged(plugin: InstalledPlugin, why: string): JudgedPlugin {
  let manifest: Manifest | null = null;
  try {
    manifest = readManifest(plugin.raw);
  } catch {
    // Then it is shown by its id.
  }
  return { plugin, manifest, verdict: null, runs: false, permissions: NOTHING, why };
}

/** All plugins; undefined while they are being verified. */
export function useJudged(): readonly JudgedPlugin[] | undefined {
  const plugins = useInstalled();
  const { data: trust, error } = useQuery(trustQuery);
  const [judged, setJudged] = useState<readonly JudgedPlugin[]>();
  useEffect(() => {
    let left = false;
    const show = (all: readonly JudgedPlugin[]) => {
      if (!left) setJudged(all);
    };
    if (trust !== undefined) void Promise.all(plugins.map((plugin) => judgeInstalled(plugin, trust))).then(show);
    else if (error !== null) show(plugins.map((plugin) => unjudged(plugin, errorText(error).replace(/\.$/, ''))));
    return () => {
      left = true;
    };
  }, [plugins, trust, error]);
  return judged;
}
