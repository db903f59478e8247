/** Parses arguments of the built-in tools. The server has validated them, but a program that calls a tool directly has not. */

import type { ToolArguments } from '../tool/definition.js';

/** An integer from 1 to `most`. */
export interface Count {
  most: number;
  /** The default. */
  otherwise: number;
}

/** Rejects all other arguments. */
export function onlyArguments(args: ToolArguments, names: readonly string[]): void {
  const other = Object.keys(args).find((name) => !names.includes(name));
  if (other !== undefined) throw new TypeError(`there is no argument \`${other}\``);
}

/** An integer within its range. */
export function countArgument(args: ToolArguments, name: string, { most, otherwise }: Count): number {
  const value = args[name] ?? otherwise;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most) {
    throw new RangeError(`\`${name}\`: expected a whole number from 1 to ${most}`);
  }
  return value;
}

/** A non-empty text with a maximum number of characters. */
export function textArgument(args: ToolArguments, name: string, most: number): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '') throw new TypeError(`\`${name}\`: expected a text that is not empty`);
  if (value.length > most) throw new RangeError(`\`${name}\`: ${value.length} characters; at most ${most}`);
  return value;
}
