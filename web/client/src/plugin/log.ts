/** Where traces go. Names of plugins, hooks, tools and arguments are traced; what is said to tools, and by them, never. */

import { isObject, why } from '../json.js';

/** As the console of every browser and of Node. */
export interface Log {
  debug(line: string): void;
  warn(line: string): void;
}

/** Traces what went well only where somebody wants to know; what failed always. */
export class Trace {
  readonly #log: Log;
  readonly #debug: boolean;

  constructor(debug: boolean, log: Log) {
    this.#debug = debug;
    this.#log = log;
  }

  /** A hook runs. */
  async hook<T>(plugin: string, hook: string, running: Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      const outcome = await running;
      if (this.#debug) this.#say('debug', `toolyard: ${hook} of \`${plugin}\` ran in ${since(begun)}`);
      return outcome;
    } catch (error) {
      this.#say('warn', `toolyard: ${hook} of \`${plugin}\` failed: ${why(error)}`);
      throw error;
    }
  }

  /** A call was run. */
  call(call: { id: string; tool: string; input: unknown }, ok: boolean, begun: number): void {
    if (!this.#debug) return;
    const names = isObject(call.input) ? Object.keys(call.input).join(', ') : '';
    this.#say('debug', `toolyard: call ${call.id} of ${call.tool}(${names}) ${ok ? 'ran' : 'failed'} in ${since(begun)}`);
  }

  /** A log that fails must not stop what it is told of. */
  #say(level: keyof Log, line: string): void {
    try {
      this.#log[level](line);
    } catch {
      // There is nobody left to tell.
    }
  }
}

function since(begun: number): string {
  return `${Math.round(performance.now() - begun)} ms`;
}
