/** What a developer can do when a call did not get through to their app. */
import type { App } from '../api';
import { shellQuoted } from './run';

export interface Help {
  title: string;
  steps: string[];
  /** A request to try by hand. */
  curl?: string;
}

/** Nothing where the app answered, or the fault is not on the way to it. */
export function helpFor(code: string, app: Pick<App, 'kind' | 'publicUrl'>, tool: string, args: unknown): Help | undefined {
  const url = (app.publicUrl ?? '').replace(/\/+$/, '');
  if (code !== 'NETWORK_ERROR' && code !== 'APP_NOT_AVAILABLE' && code !== 'TIMEOUT' && code !== 'HTTP_ERROR') return undefined;
  if (url === '')
    return {
      title: 'The app has no URL yet.',
      steps: ['Under Details, enter the address at which it answers, such as http://127.0.0.1:7010.'],
    };
  const curl = `curl -i ${shellQuoted(`${url}/tool`)} \\\n  -H 'Content-Type: application/json' \\\n  -d ${shellQuoted(JSON.stringify({ name: tool, arguments: args ?? {} }))}`;
  if (code === 'HTTP_ERROR') {
    return {
      title: `Something answers at ${url}, with an error.`,
      steps: [
        `Does the app answer POST ${url}/tool? Is another program on that port?`,
        'Try it by hand, on the machine that runs this server, and read the log of the app:',
      ],
      curl,
    };
  }
  const steps = [
    `Is the app running? Start it, and look whether it says on which port it listens.`,
    `Are host and port right? It is registered as ${url}; the port is ${portOf(url)}. Change it under Details.`,
    ...(app.kind === 'session'
      ? [
          'It is a session app: it has to answer POST /webhook and to connect to this server before a call. If it only answers calls, choose Tools only under Details.',
        ]
      : []),
    'Try it by hand, on the machine that runs this server:',
  ];
  const title =
    code === 'TIMEOUT'
      ? `The app at ${url} did not answer in time.`
      : `Nothing answered at ${url}: the connection was refused, or nobody is there.`;
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
