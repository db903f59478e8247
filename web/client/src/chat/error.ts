/** Errors of a chat. They are passed to `error` and `onError` of the chat. */

import { APICallError } from 'ai';

import { truncateText, isObject } from '../json.js';

/** How many characters of an unknown error body are shown. */
const SHOWN = 200;

/** One invalid location in a request. */
export interface Problem {
  path: string;
  message: string;
}

/** A plugin's `beforeRequest` failed. */
export class HookError extends Error {
  override readonly name = 'HookError';
  readonly plugin: string;

  constructor(plugin: string, why: string, options?: ErrorOptions) {
    super(`the plugin \`${plugin}\` stopped the request: ${why}`, options);
    this.plugin = plugin;
  }
}

/** The server rejected the request before it sent a response. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  /** HTTP status. */
  readonly status: number;
  /** The server's error code, if it sent one. */
  readonly code: string | undefined;
  /** Every invalid location. */
  readonly problems: Problem[];

  constructor(status: number, message: string, code?: string, problems: Problem[] = []) {
    super(`the server refused the request: ${message}`);
    this.status = status;
    this.code = code;
    this.problems = problems;
  }
}

/** The response ended early. A `TypeError` like that of `fetch`, so that the AI SDK knows that it can be resumed. */
export class TruncatedError extends TypeError {
  override readonly name = 'TruncatedError';

  constructor() {
    super('the response ended before it was complete: the network or the server failed');
  }
}

/** Replaces the raw body of an error response by the server's error message. */
export function toReadableError(error: unknown): unknown {
  if (!APICallError.isInstance(error) || error.statusCode === undefined) return error;
  const { statusCode, responseBody = '' } = error;
  const detail = errorOf(responseBody);
  if (typeof detail === 'string') return new RefusedError(statusCode, detail);
  if (isObject(detail) && typeof detail['message'] === 'string') {
    const { code, message, problems } = detail;
    const places = Array.isArray(problems) ? problems.filter(isProblem) : [];
    return new RefusedError(statusCode, message as string, typeof code === 'string' ? code : undefined, places);
  }
  return new RefusedError(statusCode, `it answered ${statusCode}: ${truncateText(responseBody.trim(), SHOWN)}`);
}

function errorOf(body: string): unknown {
  try {
    const read: unknown = JSON.parse(body);
    return isObject(read) ? read['error'] : undefined;
  } catch {
    return undefined;
  }
}

function isProblem(value: unknown): value is Problem {
  return isObject(value) && typeof value['path'] === 'string' && typeof value['message'] === 'string';
}
