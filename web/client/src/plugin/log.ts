/** Traces. They contain names of plugins, hooks, tools and arguments, but never the values passed to tools or returned by them. */

import { isObject, errorMessage } from '../json.js';

/** The console of every browser and of Node implements this. */
export interface Log {
  debug(line: string): void;
  warn(line: string): void;
}

/** Traces successes only in debug mode, failures always. */
export class Trace {
  readonly #log: Log;
  readonly #debug: boolean;

  constructor(debug: boolean, log: Log) {
    this.#debug = debug;
    this.#log = log;
  }

  /** Traces a hook. */
  async hook<T>(plugin: string, hook: string, running: Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      const outcome = await running;
      if (this.#debug) this.#write('debug', `toolyard: ${hook} of \`${plugin}\` ran in ${since(begun)}`);
      return outcome;
    } catch (error) {
      this.#write('warn', `toolyard: ${hook} of \`${plugin}\` failed: ${errorMessage(error)}`);
      throw error;
    }
  }

  /** Traces a call. */
  call(call: { id: string; tool: string; input: unknown }, ok: boolean, begun: number): void {
    if (!this.#debug) return;
    const names = isObject(call.input) ? Object.keys(call.input).join(', ') : '';
    this.#write('debug', `toolyard: call ${call.id} of ${call.tool}(${names}) ${ok ? 'ran' : 'failed'} in ${since(begun)}`);
  }

  /** A failing log must not stop the operation. */
  #write(level: keyof Log, line: string): void {
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
