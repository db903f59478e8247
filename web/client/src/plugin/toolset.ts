/** The tools of one request, frozen: every offered tool can run, even if plugins change meanwhile. */

import { cloneJson } from '../json.js';
import { argumentsOf, type ToolCall } from '../tool/call.js';
import type { ToolContext } from '../tool/context.js';
import type { ClientToolDefinition, Tool } from '../tool/definition.js';
import type { Hooks } from './plugin.js';

/** A tool, its plugin, and the hooks that are called first. */
export interface OfferedTool {
  readonly plugin: string;
  readonly tool: Tool;
  readonly hooks: Hooks | undefined;
}

/** The tools of one request. */
export class Toolset {
  readonly #offered: ReadonlyMap<string, OfferedTool>;

  constructor(offered: readonly OfferedTool[]) {
    this.#offered = new Map(offered.map((one) => [one.tool.name, one]));
  }

  /** Copies of the definitions, as models see them. */
  definitions(): ClientToolDefinition[] {
    return [...this.#offered.values()].map(({ tool: { name, description, parameters } }) => cloneJson({ name, description, parameters }));
  }

  has(tool: string): boolean {
    return this.#offered.has(tool);
  }

  /** The plugin that a tool belongs to. */
  pluginOf(tool: string): string | undefined {
    return this.#offered.get(tool)?.plugin;
  }

  /** Runs a call: first the hook of its plugin, then its executor. */
  async run(call: ToolCall, cx: ToolContext): Promise<unknown> {
    const found = this.#offered.get(call.tool);
    if (!found) throw new Error(`this client has no tool \`${call.tool}\``);
    const byHook: unknown = await found.hooks?.onToolCall?.(call, cx);
    return byHook !== undefined ? byHook : found.tool.execute(argumentsOf(call), cx);
  }
}
