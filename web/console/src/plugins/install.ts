/** From a text to an installed plugin: verification, objections, and the user's consent. */
import { browserTools } from './manager';
import { judgeNew } from './judged';
import { installedPlugins, saveInstalled, type InstalledPlugin } from './store';
import { MAX_FRAME_HOSTS } from '../sandbox/run';
import { asksAgain, compare, type Change } from './trust/compare';
import type { Verdict } from './trust/judge';
import { readManifest, type Manifest } from './trust/manifest';
import { isAddress } from './trust/permissions';
import { compareVersions, parseVersion } from './trust/semver';

/** Tools that the chat page runs itself. */
const INTERFACE_TOOLS = ['open_page', 'show_chart', 'celebrate'];

export interface Review {
  manifest: Manifest;
  verdict: Verdict;
  /** The installed plugin with the same id. */
  before: InstalledPlugin | null;
  change: Change | null;
  /** Whether the user must agree to the changes. */
  changeAsks: boolean;
  /** Why it cannot be installed at all. */
  obstacles: string[];
}

/** Throws if the text is not a manifest. */
export async function review(text: string, hostVersion: string): Promise<Review> {
  const manifest = readManifest(text);
  const verdict = await judgeNew(manifest);
  const before = installedPlugins().find(({ id }) => id === manifest.id) ?? null;
  const change = before === null ? null : changeFrom(before, manifest);
  const obstacles = [
    ...(['signed', 'unsigned'].includes(verdict.status) ? [] : [`It cannot run: ${verdict.reason}.`]),
    ...conflicts(manifest),
    ...hostObstacles(manifest, hostVersion),
  ];
  return { manifest, verdict, before, change, changeAsks: change !== null && asksAgain(change), obstacles };
}

export function install({ manifest, verdict, before }: Review): void {
  saveInstalled({
    ...{ id: manifest.id, raw: manifest.raw, hash: verdict.contentHash, enabled: before?.enabled ?? true },
    agreed: manifest.permissions,
    unsignedAllowed: verdict.status === 'unsigned',
    installedAt: new Date().toISOString(),
  });
}

function changeFrom(before: InstalledPlugin, next: Manifest): Change | null {
  try {
    return compare(readManifest(before.raw), next);
  } catch {
    return null;
  }
}

/** Two tools with the same name cannot be distinguished in a chat. */
function conflicts(manifest: Manifest): string[] {
  const names = new Set(manifest.tools.map(({ name }) => name));
  const clash = (tool: string, whose: string) =>
    `Its tool ${tool} has the same name as a tool of ${whose}. Uninstall ${manifest.name} or ${whose}.`;
  const others = installedPlugins()
    .filter(({ id }) => id !== manifest.id)
    .flatMap((other) => {
      try {
        const theirs = readManifest(other.raw);
        return theirs.tools.filter(({ name }) => names.has(name)).map(({ name }) => clash(name, theirs.name));
      } catch {
        return [];
      }
    });
  const ofPage = browserTools
    .clientToolDefinitions()
    .filter(({ name }) => names.has(name) && browserTools.pluginOf(name)?.startsWith('toolyard.'));
  const own = [...ofPage.map(({ name }) => name), ...INTERFACE_TOOLS.filter((name) => names.has(name))];
  return [...others, ...own.map((name) => `Its tool ${name} has the same name as a tool of the console.`)];
}

function hostObstacles({ permissions, minHostVersion }: Manifest, hostVersion: string): string[] {
  const [needed, here] = [parseVersion(minHostVersion ?? ''), parseVersion(hostVersion)];
  return [
    ...(permissions.network.length > MAX_FRAME_HOSTS
      ? [`It requests access to ${permissions.network.length} hosts; in a browser, a plugin can reach at most ${MAX_FRAME_HOSTS}.`]
      : []),
    ...permissions.network
      .filter(isAddress)
      .map((host) => `It requests access to the address ${host}; in a browser, a plugin can reach hosts by name only.`),
    ...(needed !== null && here !== null && compareVersions(here, needed) < 0
      ? [`It needs version ${minHostVersion} of Toolyard; this is ${hostVersion}.`]
      : []),
  ];
}
