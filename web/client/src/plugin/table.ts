/** The tools of all plugins, with unique names, within the server's rules. */

import { errorMessage } from '../json.js';
import type { Tool } from '../tool/definition.js';
import { checkTools, readDefinition, type ClientToolLimits } from '../tool/rules.js';
import { PluginError } from './error.js';
import type { PluginTools } from './plugin.js';

/** The entry of tools that belong to no plugin. No plugin can have this name. */
export const NO_PLUGIN = '';

/** The entry of one plugin. A later plugin with the same name gets another entry. */
export interface PluginEntry {
  readonly plugin: string;
  tools: readonly Tool[];
  /** Whether registration is complete; before that its tools are not offered. */
  live: boolean;
}

/** The tools of all plugins, in the order of registration. */
export class ToolTable {
  readonly #limits: ClientToolLimits;
  #entries: PluginEntry[] = [];

  constructor(limits: ClientToolLimits) {
    this.#limits = limits;
  }

  /** Adds a plugin with its first tools, all or none. */
  add(plugin: string, tools: readonly Tool[]): PluginEntry {
    if (this.#entries.some((entry) => entry.plugin === plugin)) {
      throw new PluginError('duplicate', `a plugin \`${plugin}\` is registered already; unuse it first`);
    }
    const entry: PluginEntry = { plugin, tools: [], live: false };
    entry.tools = this.#checked(entry, tools);
    this.#entries.push(entry);
    return entry;
  }

  remove(entry: PluginEntry): void {
    this.#entries = this.#entries.filter((other) => other !== entry);
  }

  /** Replaces the tools of an entry, all or none. */
  replace(entry: PluginEntry, tools: readonly Tool[]): void {
    if (!this.#entries.includes(entry)) {
      throw new PluginError('unknown', `no plugin \`${entry.plugin}\` is registered`);
    }
    entry.tools = this.#checked(entry, tools);
  }

  /** All offered tools, each with its plugin. */
  offered(): { plugin: string; tool: Tool }[] {
    const live = this.#entries.filter((entry) => entry.live);
    return live.flatMap(({ plugin, tools }) => tools.map((tool) => ({ plugin, tool })));
  }

  /** The entry as its plugin sees it. */
  own(entry: PluginEntry): PluginTools {
    return {
      get: () => [...entry.tools],
      replace: (tools) => this.replace(entry, tools),
    };
  }

  /** Copies of the tools, if they are valid replacements for those of the entry. */
  #checked(entry: PluginEntry, given: readonly Tool[]): Tool[] {
    const others = this.#entries.filter((other) => other !== entry);
    try {
      const tools = given.map((tool) => ({ ...readDefinition(tool), execute: tool.execute }));
      for (const other of others) {
        const both = tools.find((tool) => other.tools.some(({ name }) => name === tool.name));
        if (both) throw conflict(entry.plugin, other.plugin, both.name);
      }
      // The rules apply to all tools of a request together.
      checkTools([...others.flatMap((other) => other.tools), ...tools], this.#limits);
      const mute = tools.find((tool) => typeof tool.execute !== 'function');
      if (mute) throw new TypeError(`clientTools.${mute.name}: \`execute\` is not a function`);
      return tools;
    } catch (error) {
      if (error instanceof PluginError) throw error;
      const subject = entry.plugin === NO_PLUGIN ? 'the tool' : `the plugin \`${entry.plugin}\``;
      throw new PluginError('bad-tool', `${subject} cannot be used: ${errorMessage(error)}`, { cause: error });
    }
  }
}

/** Two plugins have a tool with the same name. */
export function conflict(plugin: string, other: string, tool: string): PluginError {
  if (plugin === NO_PLUGIN || other === NO_PLUGIN) {
    const by = other === NO_PLUGIN ? 'this program' : `the plugin \`${other}\``;
    return new PluginError('conflict', `a tool \`${tool}\` is registered already, by ${by}`);
  }
  const text = `the tool \`${tool}\` of the plugin \`${plugin}\` is a tool of the plugin \`${other}\` already`;
  return new PluginError('conflict', text);
}
