/** The tools of this browser for chats: installed plugins that may run, and the console's own tools. */
import { PluginManager, type Plugin, type ToolArguments, type ToolContext } from '@toolyard/client';
import { meQuery, queryClient } from '../api/queries';
import { runSandboxed } from '../sandbox/run';
import { pluginStorage } from '../sandbox/storage';
import { judgeInstalled, type JudgedPlugin } from './judged';
import { onPageToolsChange, PAGE_TOOLS, pageToolsOff } from './page-tools';
import { currentTrust, trustQuery } from './roots';
import { recordRun } from './runs';
import { installedPlugins, onInstalledChange } from './store';

/** One for the whole console: chats continue while the user visits other pages. */
export const browserTools = new PluginManager({ log: { debug: () => {}, warn: () => {} } });

/** The display names by the name in the manager. */
const titles = new Map<string, string>();
/** The registered plugins: name and content hash. */
const registered = new Map<string, string>();
let syncing: Promise<void> = Promise.resolve();

/** Updates the manager; chats wait for it before they send. It never fails: a problem with plugins must not stop a chat. */
export function syncBrowserTools(): Promise<void> {
  syncing = syncing.then(sync).catch(() => {});
  return syncing;
}

onInstalledChange(() => void syncBrowserTools());
onPageToolsChange(() => void syncBrowserTools());
queryClient.getQueryCache().subscribe(({ type, query }) => {
  if (type === 'updated' && query.queryKey[0] === trustQuery.queryKey[0] && query.state.status === 'success') void syncBrowserTools();
});

/** The display name of the owner of a tool of this browser. */
export const ownerOf = (tool: string) => {
  const plugin = browserTools.pluginOf(tool);
  return plugin === undefined ? undefined : (titles.get(plugin) ?? plugin);
};

async function sync(): Promise<void> {
  // If plugins cannot be verified, none runs; the Plugins page shows the reason.
  const judged = await currentTrust()
    .then((trust) => Promise.all(installedPlugins().map((plugin) => judgeInstalled(plugin, trust))))
    .catch(() => []);
  const wanted = new Map<string, { version: string; title: string; make: () => Plugin }>();
  for (const one of PAGE_TOOLS) {
    if (!pageToolsOff().has(one.id))
      wanted.set(`toolyard.${one.id}`, { version: '', title: one.name, make: () => ({ ...one.make(), name: `toolyard.${one.id}` }) });
  }
  for (const one of judged) {
    if (one.runs && one.manifest !== null)
      wanted.set(`plugin.${one.plugin.id}`, { version: one.plugin.hash, title: one.manifest.name, make: () => pluginOf(one) });
  }
  for (const [name, version] of registered) {
    if (wanted.get(name)?.version === version) continue;
    registered.delete(name);
    await browserTools.unuse(name).catch(() => {});
  }
  for (const [name, { version, title, make }] of wanted) {
    if (registered.has(name)) continue;
    titles.set(name, title);
    // A plugin that conflicts with others is skipped; the Plugins page has already rejected it.
    await browserTools.use(make()).then(
      () => registered.set(name, version),
      () => {},
    );
  }
}

function pluginOf({ plugin, manifest }: JudgedPlugin): Plugin {
  const tools = manifest?.tools ?? [];
  return {
    name: `plugin.${plugin.id}`,
    version: manifest?.version ?? '',
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    executors: Object.fromEntries(
      tools.map(({ name }) => [name, (args: ToolArguments, cx: ToolContext) => run(plugin.id, plugin.hash, name, args, cx.signal)]),
    ),
  };
}

/** Runs one call. The plugin is verified again, because it may have been revoked since the page was opened. */
async function run(id: string, hash: string, tool: string, args: ToolArguments, signal: AbortSignal): Promise<unknown> {
  const plugin = installedPlugins().find((one) => one.id === id && one.hash === hash);
  if (plugin === undefined) throw new Error('The plugin was uninstalled.');
  const { runs, manifest, verdict, permissions, why } = await judgeInstalled(plugin, await currentTrust());
  const code = manifest?.tools.find(({ name }) => name === tool)?.executorCode;
  if (!runs || code === undefined) throw new Error(`The plugin may not run: ${why}.`);
  const user = queryClient.getQueryData(meQuery.queryKey)?.userId ?? '';
  const { network, storage } = permissions;
  // The older format cannot request permissions and was written for environments where all code can read the clock.
  const clock = permissions.clock || manifest?.olderForm === true;
  const room = storage === false ? {} : { storage: pluginStorage(id, verdict?.by ?? null, user, storage === true ? undefined : storage) };
  const begun = performance.now();
  return recordRun(
    id,
    tool,
    begun,
    runSandboxed({ code, args, permissions: { network, storage: storage !== false, clock }, signal, ...room }),
  );
}
