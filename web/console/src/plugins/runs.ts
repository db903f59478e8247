/** What the last run of each plugin came to, for the page of plugins. Forgotten with the tab. */
import { useSyncExternalStore } from 'react';
import { SandboxError, type LogLine, type Outcome } from '../sandbox/run';

export interface Run {
  tool: string;
  at: string;
  ms: number;
  /** What went wrong; null if nothing did. */
  error: string | null;
  logs: LogLine[];
}

let runs: ReadonlyMap<string, Run> = new Map();
const listeners = new Set<() => void>();

/** Waits for a run and remembers how it ended. */
export async function noteRun(plugin: string, tool: string, begun: number, outcome: Promise<Outcome>): Promise<unknown> {
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

export function useLastRun(plugin: string): Run | undefined {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => runs,
  );
  return all.get(plugin);
}
