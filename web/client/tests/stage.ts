// A server that plays recorded streams, and chats that talk to it. The files in `streams` are what a Toolyard server told.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

import { Chat } from '@ai-sdk/react';
import { createChatOptions, type PluginManager, type ChatSettings, type Tool, type ToolyardMessage } from '@toolyard/client';
import type { ChatInit } from 'ai';

/** What is answered to one request. */
export type Play = (response: ServerResponse) => unknown;

/** A request as it came. */
export interface Seen {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: any;
}

/** A stream as it was recorded. */
export const sse = (name: string) => readFileSync(new URL(`../tests/streams/${name}.sse`, import.meta.url), 'utf8');

/** Plays it. */
export const recorded = (name: string): Play => told(sse(name));

/** Plays a stream that is written out. */
export const told =
  (text: string): Play =>
  (response) =>
    head(response).end(text);

/** Plays chunks. */
export const chunks = (...list: object[]): Play =>
  told([...list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''));

/** Says no. */
export const refused =
  (status: number, body: string): Play =>
  (response) =>
    response.writeHead(status).end(body);

export const head = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' });

/** A promise that others keep. */
export function promise<T = void>() {
  let resolve!: (value: T) => void;
  const kept = new Promise<T>((keep) => {
    resolve = keep;
  });
  return { kept, resolve };
}

/** A server for one test. */
export class Stage {
  readonly seen: Seen[] = [];
  readonly #plays: Play[];
  readonly #server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const { method = '', url: path = '', headers } = request;
    this.seen.push({ method, path, headers, body: text === '' ? undefined : JSON.parse(text) });
    const play = this.#plays.shift();
    if (play) play(response);
    else response.writeHead(500).end('nothing more is in the script');
  });

  private constructor(plays: Play[]) {
    this.#plays = plays;
  }

  static async start(t: TestContext, ...plays: Play[]): Promise<Stage> {
    const stage = new Stage(plays);
    await new Promise<void>((listening) => stage.#server.listen(0, '127.0.0.1', listening));
    t.after(() => {
      stage.#server.close();
      stage.#server.closeAllConnections();
    });
    return stage;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  chat(manager: PluginManager, settings: ChatSettings = {}, init: ChatInit<ToolyardMessage> = {}): Chat<ToolyardMessage> {
    return new Chat<ToolyardMessage>({ ...createChatOptions(manager, { url: this.url, ...settings }), ...init });
  }
}

/** A tool that does what it is told. */
export const tool = (name: string, execute: Tool['execute'] = () => `${name} ran`): Tool => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object' },
  execute,
});

/** The time plugin of the guide. */
export const timePlugin = (execute: Tool['execute'] = ({ timezone }) => ({ time: '12:00', timezone })) => ({
  name: 'time',
  version: '1.0.0',
  tools: [
    {
      name: 'get_current_time',
      description: 'The time in a time zone.',
      parameters: { type: 'object', properties: { timezone: { type: 'string' } } },
    },
  ],
  executors: { get_current_time: execute },
});

/** The words of the last message. */
export const textOf = (chat: Chat<ToolyardMessage>) =>
  chat.lastMessage?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** What became of each tool in the last message. */
export const toolsOf = (chat: Chat<ToolyardMessage>) =>
  chat.lastMessage?.parts.flatMap((part) =>
    part.type.startsWith('tool-') ? [{ type: part.type, state: (part as any).state, output: (part as any).output }] : [],
  );

/** The notices of the last message. */
export const noticesOf = (chat: Chat<ToolyardMessage>) =>
  chat.lastMessage?.parts.flatMap((part) => (part.type === 'data-notice' ? [part.data] : []));

/** Waits until the messages are as they should be. */
export async function shows(chat: Chat<ToolyardMessage>, is: () => boolean): Promise<void> {
  const seen = promise();
  const look = () => void (is() && seen.resolve());
  const forget = chat['~registerMessagesCallback'](look);
  look();
  await seen.kept;
  forget();
}

/** As it would be stored. */
export const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** A log that keeps what it is told. */
export function keeping() {
  const lines: string[] = [];
  return {
    lines,
    debug: (line: string) => lines.push(`debug ${line}`),
    warn: (line: string) => lines.push(`warn ${line}`),
  };
}
