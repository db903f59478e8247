/** A call of a tool, in whichever of the spellings it comes. */

import { isObject } from '../json.js';
import type { ToolArguments } from './definition.js';

/** A call, as the model made it. */
export interface ToolCall {
  /** Ties the call and its result together. */
  id: string;
  /** The tool, as the model calls it. */
  tool: string;
  /** Its arguments: an object, unless the model or the server erred. */
  input: unknown;
  /** Whether the server runs it. The others are this client's. */
  ofServer: boolean;
}

/**
 * Reads `toolCallId`, `toolName` and `input`, a call as it is here, or the older `id`, `name` and `args` or `arguments`.
 * Arguments that come as a text with JSON in it are read; missing ones are none.
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
  if (!isObject(call.input)) throw new TypeError('the arguments are no JSON object');
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
