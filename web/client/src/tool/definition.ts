/** A tool that runs in this program: its definition for the model, and its function. */

import type { ToolContext } from './context.js';

/** A JSON Schema. `checkTools` has the rules of the server. */
export type JsonSchema = { [keyword: string]: unknown };

/** The definition of a tool, as the model sees it. */
export interface ClientToolDefinition {
  /** Letters, digits and `_`, starting with a letter. */
  name: string;
  /** For the model. */
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: JsonSchema;
}

/** Arguments of a call. The server validates them against the schema; this package does not. */
export type ToolArguments = Record<string, unknown>;

/** The function of a tool. Its return value is sent to the model as JSON, an exception as `{ error }`. */
export type ToolExecutor = (args: ToolArguments, cx: ToolContext) => unknown;

/** A tool and its function. */
export interface Tool extends ClientToolDefinition {
  execute: ToolExecutor;
}
