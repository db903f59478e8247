/** Registers plugins, keeps their order, and runs their hooks. */

import type { ChatAnswer } from '../chat/answer.js';
import { HookError } from '../chat/error.js';
import { cloneJson, isObject, errorMessage } from '../json.js';
import { readCall } from '../tool/call.js';
import { detachedContext, type ToolContext } from '../tool/context.js';
import type { ClientToolDefinition, Tool } from '../tool/definition.js';
import { CLIENT_TOOL_LIMITS, type ClientToolLimits } from '../tool/rules.js';
import { withTimeout } from './with-timeout.js';
import { checkPlugin } from './check.js';
import { PluginError } from './error.js';
import { Trace, type Log } from './log.js';
import type { RequestDraft, Hooks, Plugin } from './plugin.js';
import { conflict, NO_PLUGIN, ToolTable, type PluginEntry } from './table.js';
import { Toolset } from './toolset.js';

/** Timeout of a hook in milliseconds. */
export const HOOK_TIMEOUT = 10_000;
/** Timeout of the registration of a plugin, which may have to connect to something. */
export const REGISTER_TIMEOUT = 120_000;

/** Settings of a {@link PluginManager}. */
export interface ManagerSettings {
  /** Timeout of hooks except `onRegister`, in milliseconds. */
  hookTimeout?: number;
  /** Timeout of `onRegister` in milliseconds. */
  registerTimeout?: number;
  /** Limits for client tools, if the server has other limits than the default. */
  limits?: Partial<ClientToolLimits>;
  /** Whether each hook and call is traced. */
  debug?: boolean;
  /** Receives traces and warnings. Default: the console. */
  log?: Log;
}

interface Registered {
  readonly name: string;
  readonly hooks: Hooks;
  readonly entry: PluginEntry;
}

/** The plugins of a page or program, and its tools that belong to no plugin. */
export class PluginManager {
  readonly #table: ToolTable;
  readonly #own: PluginEntry;
  readonly #hookTimeout: number;
  readonly #registerTimeout: number;
  /** @internal */
  readonly trace: Trace;
  #plugins: readonly Registered[] = [];

  constructor(settings: ManagerSettings = {}) {
    const { hookTimeout = HOOK_TIMEOUT, registerTimeout = REGISTER_TIMEOUT, limits, debug = false, log = console } = settings;
    this.#hookTimeout = hookTimeout;
    this.#registerTimeout = registerTimeout;
    this.trace = new Trace(debug, log);
    this.#table = new ToolTable({ ...CLIENT_TOOL_LIMITS, ...limits });
    this.#own = this.#table.add(NO_PLUGIN, []);
    this.#own.live = true;
  }

  /** Registers a tool that belongs to no plugin. */
  registerTool(tool: Tool): this {
    const same = this.#own.tools.find(({ name }) => name === tool?.name);
    if (same) throw conflict(NO_PLUGIN, NO_PLUGIN, same.name);
    this.#table.replace(this.#own, [...this.#own.tools, tool]);
    return this;
  }

  /** Registers a plugin completely or not at all. Its tools are offered when `onRegister` has succeeded. */
  async use(plugin: Plugin): Promise<this> {
    const { name, hooks, tools } = checkPlugin(plugin);
    const entry = this.#table.add(name, tools);
    const own = this.#table.own(entry);
    try {
      await this.#hook({ name, hooks, entry }, 'onRegister', () => hooks.onRegister?.(own), this.#registerTimeout);
    } catch (error) {
      this.#table.remove(entry);
      throw new PluginError('refused', `the plugin \`${name}\` could not be registered: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    entry.live = true;
    this.#plugins = [...this.#plugins, { name, hooks, entry }];
    return this;
  }

  /** Removes a plugin and its tools. It is removed even if its hook fails; the failure is still thrown. */
  async unuse(name: string): Promise<this> {
    const plugin = this.#plugins.find((one) => one.name === name);
    if (!plugin) throw new PluginError('unknown', `no plugin \`${name}\` is registered`);
    const { hooks, entry } = plugin;
    this.#plugins = this.#plugins.filter((one) => one !== plugin);
    entry.live = false;
    try {
      await this.#hook(plugin, 'onUnregister', () => hooks.onUnregister?.());
    } catch (error) {
      const text = `the plugin \`${name}\` is not registered any more, but did not end well: ${errorMessage(error)}`;
      throw new PluginError('left', text, { cause: error });
    } finally {
      // Its name stays reserved until the hook has ended.
      this.#table.remove(entry);
    }
    return this;
  }

  /** Removes all plugins, the last one first, and returns the errors. */
  async close(): Promise<PluginError[]> {
    const failed: PluginError[] = [];
    for (const name of this.pluginNames().reverse()) {
      await this.unuse(name).catch((error: unknown) => failed.push(error as PluginError));
    }
    return failed;
  }

  /** Whether a plugin with that name is registered. */
  hasPlugin(name: string): boolean {
    return this.#plugins.some((plugin) => plugin.name === name);
  }

  /** The names of all plugins, in the order of registration. */
  pluginNames(): string[] {
    return this.#plugins.map((plugin) => plugin.name);
  }

  /** All tool definitions, as models see them. */
  clientToolDefinitions(): ClientToolDefinition[] {
    return this.toolset().definitions();
  }

  /** Whether a tool with that name can be run. */
  hasExecutor(tool: string): boolean {
    return this.toolset().has(tool);
  }

  /** The plugin that a tool belongs to, or undefined if the program registered the tool itself. */
  pluginOf(tool: string): string | undefined {
    return this.toolset().pluginOf(tool) || undefined;
  }

  /** Runs a call with the hook of its plugin, or its executor. Also accepts the older field names. Without a timeout. */
  async run(call: object, cx?: ToolContext): Promise<unknown> {
    const read = readCall(call);
    return this.toolset().run(read, cx ?? detachedContext(read.id, read.tool));
  }

  /** The current tools. @internal */
  toolset(): Toolset {
    const hooksOf = (plugin: string) => this.#plugins.find(({ name }) => name === plugin)?.hooks;
    return new Toolset(this.#table.offered().map(({ plugin, tool }) => ({ plugin, tool, hooks: hooksOf(plugin) })));
  }

  /** Lets each plugin change a request, in the order of registration. Throws an error that names the first plugin that fails. */
  async beforeRequest(draft: RequestDraft, signal?: AbortSignal): Promise<RequestDraft> {
    let now = draft;
    for (const plugin of this.#plugins) {
      const change = async () => {
        const after = (await plugin.hooks.beforeRequest?.(now)) ?? now;
        if (!isDraft(after)) throw new TypeError('it returned something that is not a draft');
        now = { ...after, round: draft.round };
      };
      try {
        await this.#hook(plugin, 'beforeRequest', change, this.#hookTimeout, signal);
      } catch (error) {
        if (signal?.aborted) throw error;
        throw new HookError(plugin.name, errorMessage(error), { cause: error });
      }
    }
    return now;
  }

  /** Whether any plugin has an `afterResponse` hook. */
  hasAnswerHooks(): boolean {
    return this.#plugins.some(({ hooks }) => hooks.afterResponse);
  }

  /** Calls `afterResponse` of each plugin, and returns those that failed. */
  async afterResponse(answer: ChatAnswer, signal?: AbortSignal): Promise<{ plugin: string; why: string }[]> {
    const failed: { plugin: string; why: string }[] = [];
    for (const plugin of this.#plugins) {
      // A copy for each, so that plugins do not see each other's changes.
      const tell = () => plugin.hooks.afterResponse?.(cloneJson(answer));
      try {
        await this.#hook(plugin, 'afterResponse', tell, this.#hookTimeout, signal);
      } catch (error) {
        if (signal?.aborted) throw error;
        failed.push({ plugin: plugin.name, why: errorMessage(error) });
      }
    }
    return failed;
  }

  /** Runs a hook if the plugin has it. */
  async #hook(
    { name, hooks }: Registered,
    hook: keyof Hooks,
    run: () => void | PromiseLike<void>,
    limit = this.#hookTimeout,
    signal?: AbortSignal,
  ): Promise<void> {
    if (hooks[hook]) await this.trace.hook(name, hook, withTimeout(limit, run, signal));
  }
}

function isDraft(value: unknown): value is RequestDraft {
  return isObject(value) && ['messages', 'tools', 'categories'].every((name) => Array.isArray(value[name]));
}
