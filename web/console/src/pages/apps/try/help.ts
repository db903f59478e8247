/** Suggestions for developers when a call did not reach their app. */
import type { App } from '../api';
import { shellQuoted } from './run';

export interface Help {
  title: string;
  steps: string[];
  /** A request to try manually. */
  curl?: string;
}

/** Undefined if the app responded, or the problem is not the connection to it. */
export function helpFor(code: string, app: Pick<App, 'kind' | 'publicUrl'>, tool: string, args: unknown): Help | undefined {
  const url = (app.publicUrl ?? '').replace(/\/+$/, '');
  if (code !== 'NETWORK_ERROR' && code !== 'APP_NOT_AVAILABLE' && code !== 'TIMEOUT' && code !== 'HTTP_ERROR') return undefined;
  if (url === '')
    return {
      title: 'The app has no URL yet.',
      steps: ['Enter its address under Details, such as http://127.0.0.1:7010.'],
    };
  const curl = `curl -i ${shellQuoted(`${url}/tool`)} \\\n  -H 'Content-Type: application/json' \\\n  -d ${shellQuoted(JSON.stringify({ name: tool, arguments: args ?? {} }))}`;
  if (code === 'HTTP_ERROR') {
    return {
      title: `The program at ${url} responded with an error.`,
      steps: [
        `Does the app answer POST ${url}/tool? Is another program using that port?`,
        'Try it manually on the machine that runs this server, and check the log of the app:',
      ],
      curl,
    };
  }
  const steps = [
    `Is the app running? Start it, and check on which port it listens.`,
    `Are host and port correct? It is registered as ${url}; the port is ${portOf(url)}. Change it under Details.`,
    ...(app.kind === 'session'
      ? [
          'This is a session app: it must answer POST /webhook and connect to this server before a call. If it only answers calls, choose Tools only under Details.',
        ]
      : []),
    'Try it manually on the machine that runs this server:',
  ];
  const title =
    code === 'TIMEOUT'
      ? `The app at ${url} did not respond in time.`
      : `No response from ${url}: the connection was refused, or nothing listens there.`;
  return { title, steps, curl };
}

function portOf(url: string): string {
  try {
    const { port, protocol } = new URL(url);
    return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  } catch {
    return 'unknown';
  }
}
