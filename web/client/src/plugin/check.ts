/** Validates a single plugin. */

import { isObject } from '../json.js';
import type { ClientToolDefinition, Tool, ToolExecutor } from '../tool/definition.js';
import { PluginError } from './error.js';
import type { Hooks, Plugin } from './plugin.js';

const HOOKS = ['onRegister', 'beforeRequest', 'afterResponse', 'onToolCall', 'onUnregister'] as const;

/** A validated plugin. */
export interface CheckedPlugin {
  readonly name: string;
  readonly hooks: Hooks;
  readonly tools: Tool[];
}

/** Validates everything, because a plugin may come from untyped code. The tools themselves are validated elsewhere. */
export function checkPlugin(plugin: Plugin): CheckedPlugin {
  const given: unknown = plugin;
  if (!isObject(given) || !isText(given['name'])) throw new PluginError('no-name', 'a plugin needs a name');
  const { name, version, tools = [], executors = {}, hooks = {} } = plugin;
  if (!isText(version)) throw new PluginError('no-version', `the plugin \`${name}\` needs a version`);
  const bad = (what: string) => new PluginError('bad-plugin', `the plugin \`${name}\` cannot be used: ${what}`);
  if (!Array.isArray(tools)) throw bad('`tools` is not a list');
  if (!isObject(executors)) throw bad('`executors` is not an object');
  if (!isObject(hooks)) throw bad('`hooks` is not an object');
  const mute = HOOKS.find((hook) => hooks[hook] !== undefined && typeof hooks[hook] !== 'function');
  if (mute) throw bad(`the hook \`${mute}\` is not a function`);
  const definitions = tools as readonly ClientToolDefinition[];
  for (const [tool, executor] of Object.entries(executors)) {
    if (!definitions.some((definition) => definition?.name === tool)) {
      const text = `the plugin \`${name}\` has an executor for \`${tool}\`, but no tool of that name`;
      throw new PluginError('no-tool', text);
    }
    if (typeof executor !== 'function') throw bad(`the executor for \`${tool}\` is not a function`);
  }
  return { name, hooks, tools: definitions.map((definition) => withExecutor(plugin, definition)) };
}

function withExecutor(plugin: Plugin, definition: ClientToolDefinition): Tool {
  const tool = definition?.name;
  const { executors = {}, hooks } = plugin;
  if (typeof tool === 'string' && Object.hasOwn(executors, tool)) {
    return { ...definition, execute: (args, cx) => executors[tool]?.(args, cx) };
  }
  if (!hooks?.onToolCall) {
    const text = `the tool \`${tool}\` of the plugin \`${plugin.name}\` has no executor, and the plugin has no hook for calls`;
    throw new PluginError('no-executor', text);
  }
  return { ...definition, execute: missingExecutor(tool) };
}

/** The executor of a tool that only the hook can run. */
function missingExecutor(tool: string): ToolExecutor {
  return () => {
    throw new Error(`no hook or executor ran the tool \`${tool}\``);
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
