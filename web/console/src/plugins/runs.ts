/** The last run of each plugin, for the Plugins page. Not stored beyond the tab. */
import { useSyncExternalStore } from 'react';
import { SandboxError, type LogLine, type Outcome } from '../sandbox/run';

export interface PluginRun {
  tool: string;
  at: string;
  ms: number;
  /** The error; null if there was none. */
  error: string | null;
  logs: LogLine[];
}

let runs: ReadonlyMap<string, PluginRun> = new Map();
const listeners = new Set<() => void>();

/** Waits for a run and records its result. */
export async function recordRun(plugin: string, tool: string, begun: number, outcome: Promise<Outcome>): Promise<unknown> {
  const note = (error: string | null, logs: LogLine[]) => {
    const run = { tool, at: new Date().toISOString(), ms: performance.now() - begun, error, logs };
    runs = new Map(runs).set(plugin, run);
    for (const listener of listeners) listener();
  };
  try {
    const { value, logs } = await outcome;
    note(null, logs);
    return value;
  } catch (error) {
    note(error instanceof Error ? error.message : String(error), error instanceof SandboxError ? error.logs : []);
    throw error;
  }
}

export function useLastRun(plugin: string): PluginRun | undefined {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => runs,
  );
  return all.get(plugin);
}
