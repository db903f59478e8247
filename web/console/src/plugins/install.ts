/** From a text to an installed plugin: what it is, what speaks against it, and what the user has to agree to. */
import { browserTools } from './manager';
import { judgeNew } from './judged';
import { installed, keep, type Installed } from './store';
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
  /** The plugin of the same id that is there. */
  before: Installed | null;
  change: Change | null;
  /** Whether the user has to agree to what changed. */
  changeAsks: boolean;
  /** Why it cannot be installed at all. */
  obstacles: string[];
}

/** Throws where the text is no manifest. */
export async function review(text: string, hostVersion: string): Promise<Review> {
  const manifest = readManifest(text);
  const verdict = await judgeNew(manifest);
  const before = installed().find(({ id }) => id === manifest.id) ?? null;
  const change = before === null ? null : changeFrom(before, manifest);
  const obstacles = [
    ...(['signed', 'unsigned'].includes(verdict.status) ? [] : [`It is not run: ${verdict.reason}.`]),
    ...conflicts(manifest),
    ...hostObstacles(manifest, hostVersion),
  ];
  return { manifest, verdict, before, change, changeAsks: change !== null && asksAgain(change), obstacles };
}

export function install({ manifest, verdict, before }: Review): void {
  keep({
    ...{ id: manifest.id, raw: manifest.raw, hash: verdict.contentHash, enabled: before?.enabled ?? true },
    agreed: manifest.permissions,
    unsignedAllowed: verdict.status === 'unsigned',
    installedAt: new Date().toISOString(),
  });
}

function changeFrom(before: Installed, next: Manifest): Change | null {
  try {
    return compare(readManifest(before.raw), next);
  } catch {
    return null;
  }
}

/** Two tools of one name cannot be told apart in a chat. */
function conflicts(manifest: Manifest): string[] {
  const names = new Set(manifest.tools.map(({ name }) => name));
  const clash = (tool: string, whose: string) =>
    `Its tool ${tool} has the name of a tool of ${whose}. Uninstall one of ${manifest.name} and ${whose}.`;
  const others = installed()
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
  return [...others, ...own.map((name) => `Its tool ${name} has the name of a tool of the console.`)];
}

function hostObstacles({ permissions, minHostVersion }: Manifest, hostVersion: string): string[] {
  const [needed, here] = [parseVersion(minHostVersion ?? ''), parseVersion(hostVersion)];
  return [
    ...(permissions.network.length > MAX_FRAME_HOSTS
      ? [`It asks for ${permissions.network.length} hosts; in a browser a plugin can reach at most ${MAX_FRAME_HOSTS}.`]
      : []),
    ...permissions.network
      .filter(isAddress)
      .map((host) => `It asks for the address ${host}; in a browser a plugin reaches hosts by name only.`),
    ...(needed !== null && here !== null && compareVersions(here, needed) < 0
      ? [`It needs version ${minHostVersion} of Toolyard; this is ${hostVersion}.`]
      : []),
  ];
}
