/** A tool that runs in this program: what the model is told of it, and the function that answers. */

import type { ToolContext } from './context.js';

/** A JSON Schema. What a server takes: see `checkTools`. */
export type JsonSchema = { [keyword: string]: unknown };

/** What the model is told of a tool. */
export interface ClientToolDefinition {
  /** Letters, digits and `_`, a letter first. */
  name: string;
  /** For the model. */
  description: string;
  /** JSON Schema of its arguments, an object. */
  parameters: JsonSchema;
}

/** Arguments of a call. The server checks them against the schema; nobody else does. */
export type ToolArguments = Record<string, unknown>;

/** The function of a tool. What it gives back goes to the model as JSON; what it throws goes there as `{ error }`. */
export type ToolExecutor = (args: ToolArguments, cx: ToolContext) => unknown;

/** A tool and its function. */
export interface Tool extends ClientToolDefinition {
  execute: ToolExecutor;
}
