/** Reads arguments of the tools that ship. The server has checked them; a program that calls a tool by itself has not. */

import type { ToolArguments } from '../tool/definition.js';

/** A number of something, from 1 up to `most`. */
export interface Count {
  most: number;
  /** Where it is missing. */
  otherwise: number;
}

/** There is nothing but these. */
export function onlyArguments(args: ToolArguments, names: readonly string[]): void {
  const other = Object.keys(args).find((name) => !names.includes(name));
  if (other !== undefined) throw new TypeError(`there is no argument \`${other}\``);
}

/** A whole number, within its bounds. */
export function countArgument(args: ToolArguments, name: string, { most, otherwise }: Count): number {
  const value = args[name] ?? otherwise;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most) {
    throw new RangeError(`\`${name}\`: expected a whole number from 1 to ${most}`);
  }
  return value;
}

/** A text that is not empty, of at most so many characters. */
export function textArgument(args: ToolArguments, name: string, most: number): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '') throw new TypeError(`\`${name}\`: expected a text that is not empty`);
  if (value.length > most) throw new RangeError(`\`${name}\`: ${value.length} characters; at most ${most}`);
  return value;
}
