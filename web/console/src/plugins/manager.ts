/** The tools of this browser, for chats: installed plugins that may run, and the console's own. */
import { PluginManager, type Plugin, type ToolArguments, type ToolContext } from '@toolyard/client';
import { meQuery, queryClient } from '../api/queries';
import { runSandboxed } from '../sandbox/run';
import { pluginStorage } from '../sandbox/storage';
import { judgeInstalled, type Judged } from './judged';
import { onPageToolsChange, PAGE_TOOLS, pageToolsOff } from './page-tools';
import { currentTrust, trustQuery } from './roots';
import { noteRun } from './runs';
import { installed, onInstalledChange } from './store';

/** One for the whole console: chats go on while the user looks at other pages. */
export const browserTools = new PluginManager({ log: { debug: () => {}, warn: () => {} } });

/** The names that the user knows, by the name in the manager. */
const titles = new Map<string, string>();
/** What is registered now: name, and which content. */
const registered = new Map<string, string>();
let syncing: Promise<void> = Promise.resolve();

/** Brings the manager up to date; chats wait for it before they send. It never fails: trouble with plugins stops no chat. */
export function syncBrowserTools(): Promise<void> {
  syncing = syncing.then(sync).catch(() => {});
  return syncing;
}

onInstalledChange(() => void syncBrowserTools());
onPageToolsChange(() => void syncBrowserTools());
queryClient.getQueryCache().subscribe(({ type, query }) => {
  if (type === 'updated' && query.queryKey[0] === trustQuery.queryKey[0] && query.state.status === 'success') void syncBrowserTools();
});

/** How a tool of this browser is called for people: whose it is. */
export const ownerOf = (tool: string) => {
  const plugin = browserTools.pluginOf(tool);
  return plugin === undefined ? undefined : (titles.get(plugin) ?? plugin);
};

async function sync(): Promise<void> {
  // Where nothing can be judged no plugin runs; the page of plugins says why.
  const judged = await currentTrust()
    .then((trust) => Promise.all(installed().map((plugin) => judgeInstalled(plugin, trust))))
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
    // One that does not fit beside the others is left out; the page of plugins has refused it before.
    await browserTools.use(make()).then(
      () => registered.set(name, version),
      () => {},
    );
  }
}

function pluginOf({ plugin, manifest }: Judged): Plugin {
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

/** Runs one call. The plugin is judged once more: it may have been called back since the page was opened. */
async function run(id: string, hash: string, tool: string, args: ToolArguments, signal: AbortSignal): Promise<unknown> {
  const plugin = installed().find((one) => one.id === id && one.hash === hash);
  if (plugin === undefined) throw new Error('The plugin was uninstalled.');
  const { runs, manifest, verdict, permissions, why } = await judgeInstalled(plugin, await currentTrust());
  const code = manifest?.tools.find(({ name }) => name === tool)?.executorCode;
  if (!runs || code === undefined) throw new Error(`The plugin may not run: ${why}.`);
  const user = queryClient.getQueryData(meQuery.queryKey)?.userId ?? '';
  const { network, storage } = permissions;
  // The older form has no word for permissions and was written where all code knows the time.
  const clock = permissions.clock || manifest?.olderForm === true;
  const room = storage === false ? {} : { storage: pluginStorage(id, verdict?.by ?? null, user, storage === true ? undefined : storage) };
  const begun = performance.now();
  return noteRun(
    id,
    tool,
    begun,
    runSandboxed({ code, args, permissions: { network, storage: storage !== false, clock }, signal, ...room }),
  );
}
