/** A tool call, and the formats in which it can arrive. */

import { isObject } from '../json.js';
import type { ToolArguments } from './definition.js';

/** A call, as the model made it. */
export interface ToolCall {
  /** The id that connects the call and its result. */
  id: string;
  /** The tool name, as the model uses it. */
  tool: string;
  /** The arguments: an object, unless the model or the server made a mistake. */
  input: unknown;
  /** Whether the server runs it. All others run in this client. */
  ofServer: boolean;
}

/**
 * Parses `toolCallId`, `toolName` and `input`, a `ToolCall`, or the older `id`, `name` and `args` or `arguments`. Arguments in a string
 * with JSON are parsed; missing arguments are empty.
 */
export function readCall(fields: object): ToolCall {
  const id = firstText(fields, ['toolCallId', 'id']);
  if (id === undefined) throw new TypeError('`toolCallId` is missing');
  const tool = firstText(fields, ['toolName', 'tool', 'name']);
  if (tool === undefined) throw new TypeError('`toolName` is missing');
  const written: Record<string, unknown> = { ...fields };
  const input = ['input', 'args', 'arguments'].map((name) => written[name]).find((value) => value !== undefined);
  return {
    id,
    tool,
    input: readInput(input),
    ofServer: written['providerExecuted'] === true || written['ofServer'] === true,
  };
}

/** The arguments as an object. */
export function argumentsOf(call: ToolCall): ToolArguments {
  if (call.input === undefined || call.input === null) return {};
  if (!isObject(call.input)) throw new TypeError('the arguments are not a JSON object');
  return call.input;
}

function firstText(fields: object, names: string[]): string | undefined {
  const written: Record<string, unknown> = { ...fields };
  return names.map((name) => written[name]).find((value): value is string => typeof value === 'string' && value !== '');
}

function readInput(input: unknown): unknown {
  if (input === undefined || input === null) return {};
  if (typeof input !== 'string') return input;
  if (input.trim() === '') return {};
  try {
    const read: unknown = JSON.parse(input);
    return isObject(read) ? read : input;
  } catch {
    return input;
  }
}
