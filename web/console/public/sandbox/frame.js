// @ts-check
/**
 * The sandbox of plugins in a browser. This file is served separately, into a frame without an origin and with its own
 * policy: no storage, no cookies, no access to the page, no network except the hosts that the plugin declared. The frame
 * runs one call and is then removed by the page.
 *
 * Untrusted code never runs in the frame itself but in a worker of it, so that an endless loop blocks nothing and can be
 * stopped. The policy is the security boundary. Most globals are removed as well (`inside`), so that code behaves the same
 * here and on a server, where the crate `sandbox` runs it.
 *
 * | message | from, to | members |
 * | --- | --- | --- |
 * | `ready` | frame, page | |
 * | `run` | page, frame | `id`, `code`, `args` (JSON), `permissions`, `timeMs` |
 * | `storage` | frame, page | `id`, `call`, `op`, `key`, `value` (JSON) |
 * | `stored` | page, frame | `id`, `call`, `json` or `error` |
 * | `done` | frame, page | `id`, `json`, `logs` |
 * | `failed` | frame, page | `id`, `text`, `logs` |
 */
'use strict';

(() => {
  /** The same as in the crate `sandbox`. */
  const LIMITS = {
    output: 256 * 1024,
    hostCalls: 64,
    timers: 64,
    requestChars: 256 * 1024,
    responseBytes: 1024 * 1024,
    headers: 32,
    headerChars: 4096,
    urlChars: 2048,
    keyChars: 200,
    valueChars: 64 * 1024,
    lines: 100,
    lineChars: 2000,
    errorChars: 2000,
  };
  /** Far more than well-behaved code sends. */
  const MAX_MESSAGES = LIMITS.hostCalls + LIMITS.lines + 10;
  const MAX_TIME_MS = 30_000;

  /**
   * Runs in the worker, before and around untrusted code. It saves everything that it needs before that code runs.
   *
   * @param {typeof LIMITS} limits
   */
  function inside(limits) {
    // Strict, so that untrusted code cannot reach these functions through the call stack.
    'use strict';
    const scope = /** @type {any} */ (globalThis);
    const post = scope.postMessage.bind(scope);
    const [nativeFetch, NativeURL] = [scope.fetch.bind(scope), scope.URL];
    const [later, clear] = [scope.setTimeout.bind(scope), scope.clearTimeout.bind(scope)];
    const [microtask, chance] = [scope.queueMicrotask.bind(scope), scope.crypto.getRandomValues.bind(scope.crypto)];
    const NativeDate = Date;
    const { parse, stringify } = JSON;
    const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
    const { ownKeys, deleteProperty, construct, apply } = Reflect;
    const AsyncFunction = getPrototypeOf(async () => {}).constructor;
    const decoder = new TextDecoder();

    /** @type {Map<number, { resolve: (value: unknown) => void, reject: (error: Error) => void }>} */
    const waiting = new Map();
    /** @type {Map<number, number>} */
    const timers = new Map();
    let [calls, lines, ended] = [0, 0, false];
    /** @type {{ network: string[], storage: boolean, clock: boolean }} */
    let allowed = { network: [], storage: false, clock: false };

    /** @param {Record<string, unknown>} message */
    function end(message) {
      if (ended) return;
      ended = true;
      post(message);
    }

    /** @param {unknown} error */
    function fail(error) {
      end({ kind: 'failed', text: told(error) });
    }

    /** @param {unknown} error */
    function told(error) {
      try {
        if (typeof error === 'object' && error !== null && typeof (/** @type {any} */ (error).message) === 'string') {
          const { name, message } = /** @type {Error} */ (error);
          return `${typeof name === 'string' ? name.slice(0, 100) : 'Error'}: ${message}`.slice(0, limits.errorChars);
        }
        return shown(error).slice(0, limits.errorChars);
      } catch {
        return 'an error that cannot be shown';
      }
    }

    const tooLong = {};

    /**
     * @param {number} limit
     * @param {unknown} value
     * @returns {string | undefined}
     */
    function jsonWithin(limit, value) {
      let length = 0;
      const text = stringify(value, (key, part) => {
        length += key.length + (typeof part === 'string' ? part.length : 1);
        if (length > limit) throw tooLong;
        return part;
      });
      if (text !== undefined && text.length > limit) throw tooLong;
      return text;
    }

    /** @param {unknown} value */
    function shown(value) {
      try {
        if (typeof value === 'string') return value;
        if (typeof value !== 'object' || value === null) return String(value);
        if (value instanceof Error) return `${value.name}: ${value.message}`;
        return jsonWithin(100_000, value) ?? String(value);
      } catch (error) {
        return error === tooLong ? '[too large to be shown]' : '[cannot be shown]';
      }
    }

    /**
     * @param {string} level
     * @param {unknown[]} values
     */
    function log(level, values) {
      lines += 1;
      if (lines > limits.lines) return;
      const line = lines === limits.lines ? 'further lines are dropped' : values.map(shown).join(' ');
      post({ kind: 'log', level, text: line.slice(0, limits.lineChars) });
    }

    /**
     * @param {unknown} value
     * @param {number} limit
     * @param {string} what
     */
    function short(value, limit, what) {
      const text = String(value);
      if (text.length > limit) throw new TypeError(`${what} is longer than ${limit} characters`);
      return text.toWellFormed();
    }

    function countCall() {
      calls += 1;
      if (calls <= limits.hostCalls) return;
      fail(new RangeError(`at most ${limits.hostCalls} calls of fetch and storage in a run`));
      throw new RangeError('too many calls');
    }

    /** @param {string} host */
    const declared = (host) =>
      allowed.network.some((pattern) =>
        pattern.startsWith('*.') ? host.length > pattern.length - 1 && host.endsWith(pattern.slice(1)) : host === pattern,
      );

    /** @param {any} given */
    function headersOf(given) {
      /** @type {[string, string][]} */
      const pairs = given === null || typeof given !== 'object' ? [] : Array.isArray(given) ? given : Object.entries(given);
      if (pairs.length > limits.headers) throw new TypeError(`fetch takes at most ${limits.headers} headers`);
      return pairs.map(([name, value]) => [
        short(name, 200, 'the name of a header').toLowerCase(),
        short(value, limits.headerChars, 'a header'),
      ]);
    }

    /** @param {any} answer */
    async function bodyOf(answer) {
      const reader = answer.body?.getReader();
      if (reader === undefined) return '';
      let [text, bytes] = ['', 0];
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text + decoder.decode();
        bytes += value.byteLength;
        if (bytes > limits.responseBytes) {
          await reader.cancel();
          throw new TypeError(`the response is larger than ${limits.responseBytes} bytes`);
        }
        text += decoder.decode(value, { stream: true });
      }
    }

    /**
     * @param {unknown} url
     * @param {any} [options]
     */
    async function fetch(url, options) {
      const given = typeof options === 'object' && options !== null ? options : {};
      const address = short(url, limits.urlChars, 'the URL');
      const method = short(given.method ?? 'GET', 20, 'the method').toUpperCase();
      const headers = headersOf(given.headers);
      if (typeof given.body === 'object' && given.body !== null)
        throw new TypeError('the body of fetch has to be a text; use JSON.stringify');
      const body = given.body === undefined || given.body === null ? undefined : short(given.body, limits.requestChars, 'the body');
      if (!['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) {
        throw new TypeError(`the method \`${method}\` cannot be used; use GET, HEAD, POST, PUT, PATCH or DELETE`);
      }
      if (body !== undefined && (method === 'GET' || method === 'HEAD')) throw new TypeError('a GET or HEAD request has no body');
      countCall();
      const target = NativeURL.parse(address);
      if (target === null) throw new TypeError('not a URL; write it like https://example.com/path');
      if (target.protocol !== 'https:' || target.port !== '' || target.username !== '' || !declared(target.hostname)) {
        throw new TypeError(
          `\`${target.origin}\` is not among the hosts that this code may call; declare it under the permission \`network\``,
        );
      }
      let answer;
      try {
        answer = await nativeFetch(target.href, {
          method,
          headers,
          body,
          credentials: 'omit',
          referrerPolicy: 'no-referrer',
          cache: 'no-store',
        });
      } catch {
        throw new TypeError(`\`${target.origin}\` did not answer, or does not let web pages read its answers (CORS)`);
      }
      /** @type {Map<string, string>} */
      const seen = new Map(answer.headers);
      const text = await bodyOf(answer);
      return {
        ok: answer.ok,
        status: answer.status,
        url: answer.url,
        redirected: answer.redirected,
        headers: {
          /** @param {unknown} name */
          get: (name) => seen.get(String(name).toLowerCase()) ?? null,
          /** @param {unknown} name */
          has: (name) => seen.has(String(name).toLowerCase()),
          keys: () => [...seen.keys()],
        },
        text: async () => text,
        json: async () => parse(text),
      };
    }

    /**
     * @param {string} op
     * @param {unknown} [name]
     * @param {string} [value]
     */
    async function ask(op, name, value) {
      const key = name === undefined && op === 'keys' ? '' : short(name, limits.keyChars, 'the key');
      if (!allowed.storage) throw new TypeError('storage needs the permission `storage`');
      countCall();
      const call = calls;
      return new Promise((resolve, reject) => {
        waiting.set(call, { resolve, reject });
        post({ kind: 'storage', call, op, key, value: value ?? '' });
      });
    }

    const storage = {
      /** @param {unknown} name */
      get: (name) => ask('get', name),
      /**
       * @param {unknown} name
       * @param {unknown} value
       */
      async set(name, value) {
        let text;
        try {
          text = jsonWithin(limits.valueChars, value);
        } catch (error) {
          throw error === tooLong ? new TypeError(`the value is longer than ${limits.valueChars} characters`) : error;
        }
        if (text === undefined) throw new TypeError('storage keeps what can be written as JSON; use delete to remove a key');
        return ask('set', name, text);
      },
      /** @param {unknown} name */
      delete: (name) => ask('delete', name),
      keys: () => ask('keys'),
    };

    /**
     * @param {unknown} callback
     * @param {unknown} [delay]
     * @param {unknown[]} args
     */
    function setTimeout(callback, delay, ...args) {
      if (typeof callback !== 'function') throw new TypeError('setTimeout needs a function');
      if (timers.size >= limits.timers) throw new RangeError(`at most ${limits.timers} timers at a time`);
      const id = later(() => {
        timers.delete(id);
        try {
          apply(callback, undefined, args);
        } catch (error) {
          fail(error);
        }
      }, Number(delay) || 0);
      timers.set(id, id);
      return id;
    }

    /** @param {unknown} id */
    function clearTimeout(id) {
      if (timers.delete(/** @type {number} */ (id))) clear(id);
    }

    /** Implemented here: a frame without an origin is not a secure context and has no `randomUUID`. */
    function randomUUID() {
      const bytes = chance(new Uint8Array(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (/** @type {number} */ byte) => byte.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    }

    /** @param {unknown} callback */
    function queueMicrotask(callback) {
      if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
      microtask(() => {
        try {
          callback();
        } catch (error) {
          fail(error);
        }
      });
    }

    /**
     * @param {object} target
     * @param {string} name
     * @param {unknown} value
     */
    const hide = (target, name, value) => defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true });

    /** Local time is UTC, as in every sandbox. The current time requires the permission `clock`. */
    function setDates() {
      const D = /** @type {any} */ (NativeDate.prototype);
      const now = () => {
        if (!allowed.clock) throw new Error('the present time needs the permission `clock`; `new Date(value)` works without it');
        return NativeDate_now();
      };
      const NativeDate_now = NativeDate.now.bind(NativeDate);
      const hasZone = /(?:z|gmt|utc?|[ecmp][sd]t|[+-]\d\d(?::?\d\d)?)\s*(?:\(.*\))?\s*$/i;
      const dateOnly = /^[+-]?\d{4,6}(?:-\d\d(?:-\d\d)?)?$/;
      const nativeParse = NativeDate.parse;
      /** @param {unknown} text */
      const parseDate = (text) => {
        const whole = String(text).slice(0, 100);
        if (dateOnly.test(whole) || (hasZone.test(whole) && whole.includes(':'))) return nativeParse(whole);
        const time = nativeParse(`${whole}Z`);
        return Number.isNaN(time) ? nativeParse(`${whole} UTC`) : time;
      };
      /** @param {any[]} args */
      const timeOf = (args) => {
        if (args.length === 0) return now();
        if (args.length > 1) return apply(NativeDate.UTC, undefined, args);
        const value = args[0] instanceof NativeDate ? args[0].getTime() : args[0];
        return typeof value === 'string' ? parseDate(value) : Number(value);
      };
      const whole = (/** @type {Date} */ date) => `${day(date)} ${clock(date)}`;
      const day = (/** @type {Date} */ date) => date.toUTCString().replace(/^(\w+), (\d+) (\w+) (-?\d+).*$/, '$1 $3 $2 $4');
      const clock = (/** @type {Date} */ date) => `${date.toISOString().slice(-13, -5)} GMT+0000 (Coordinated Universal Time)`;
      const or = (/** @type {Date} */ date, /** @type {(date: Date) => string} */ text) =>
        Number.isNaN(date.getTime()) ? 'Invalid Date' : text(date);
      const DateHere = /** @type {any} */ (
        /** @this {unknown} @param {any[]} args */
        function Date(...args) {
          if (new.target === undefined) return whole(new NativeDate(now()));
          return construct(NativeDate, [timeOf(args)], new.target);
        }
      );
      defineProperty(DateHere, 'prototype', { value: D, writable: false });
      for (const [name, value] of Object.entries({ now, parse: parseDate, UTC: NativeDate.UTC })) hide(DateHere, name, value);
      hide(D, 'constructor', DateHere);
      for (const part of ['FullYear', 'Month', 'Date', 'Hours', 'Minutes', 'Seconds', 'Milliseconds', 'Day']) {
        hide(D, `get${part}`, D[`getUTC${part}`]);
        if (part !== 'Day') hide(D, `set${part}`, D[`setUTC${part}`]);
      }
      /** @type {[string, (date: Date) => string][]} */
      const texts = [
        ['toString', whole],
        ['toDateString', day],
        ['toTimeString', clock],
      ];
      for (const [name, write] of texts) {
        hide(
          D,
          name,
          /** @this {Date} */ function () {
            return or(this, write);
          },
        );
      }
      hide(D, 'getTimezoneOffset', () => 0);
      for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) {
        const native = D[name];
        hide(
          D,
          name,
          /** @this {Date} @param {unknown} _locales @param {object} [options] */ function (_locales, options) {
            return apply(native, this, ['en-US', { timeZone: 'UTC', ...options }]);
          },
        );
      }
      const NativeFormat = Intl.DateTimeFormat;
      /** @param {unknown} _locales @param {object} [options] */
      const DateTimeFormat = function (_locales, options) {
        const format = new NativeFormat('en-US', { timeZone: 'UTC', ...options });
        const at = (/** @type {any} */ date) => (date === undefined ? now() : timeOf([date]));
        return {
          format: (/** @type {any} */ date) => format.format(at(date)),
          formatToParts: (/** @type {any} */ date) => format.formatToParts(at(date)),
          resolvedOptions: () => format.resolvedOptions(),
        };
      };
      hide(scope, 'Date', DateHere);
      hide(scope, 'Intl', { DateTimeFormat });
    }

    /** Removes everything except the language itself. Returns what could not be removed. */
    function strip() {
      const language = [
        ...['Object', 'Array', 'String', 'Number', 'Boolean', 'Symbol', 'BigInt', 'Math', 'JSON', 'Date', 'RegExp', 'Intl', 'Iterator'],
        ...['Map', 'Set', 'WeakMap', 'WeakSet', 'Promise', 'Proxy', 'Reflect', 'ArrayBuffer', 'DataView'],
        ...['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'],
        ...['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array'],
        ...['Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'],
        ...['globalThis', 'undefined', 'NaN', 'Infinity', 'isNaN', 'isFinite', 'parseInt', 'parseFloat'],
        ...['encodeURI', 'encodeURIComponent', 'decodeURI', 'decodeURIComponent', 'escape', 'unescape'],
      ];
      const keep = new Set(language);
      const left = [];
      for (let target = scope; target !== null && target !== Object.prototype; target = getPrototypeOf(target)) {
        for (const name of ownKeys(target)) {
          if (typeof name === 'symbol' || (target === scope && keep.has(name))) continue;
          if (deleteProperty(target, name)) continue;
          const { value, writable, get } = getOwnPropertyDescriptor(target, name) ?? {};
          if (writable) target[name] = undefined;
          // Constant numbers and strings are harmless.
          else if (get !== undefined || (typeof value === 'object' && value !== null) || typeof value === 'function') left.push(name);
        }
      }
      return left;
    }

    /** Only signed code runs: strings never become code. */
    function noCodeOfText() {
      const Function = function Function() {
        throw new EvalError('text cannot be turned into code in the sandbox; write the function itself');
      };
      for (const one of [function () {}, async function () {}, function* () {}, async function* () {}]) {
        defineProperty(getPrototypeOf(one), 'constructor', { value: Function, configurable: false, writable: false });
      }
      hide(scope, 'Function', Function);
      for (const name of ['captureStackTrace', 'prepareStackTrace', 'stackTraceLimit']) deleteProperty(Error, name);
    }

    /** @param {{ code: string, args: string, permissions: typeof allowed }} job */
    function start({ code, args, permissions }) {
      allowed = permissions;
      const left = strip();
      // A new browser feature that cannot be removed: better no plugin than an unconfined one.
      if (left.length > 0) return fail(new Error(`this browser cannot be used: ${left.join(', ')} cannot be taken away`));
      setDates();
      /** @param {string} level */
      const tell =
        (level) =>
        (/** @type {unknown[]} */ ...values) =>
          log(level, values);
      hide(scope, 'console', { log: tell('info'), info: tell('info'), debug: tell('debug'), warn: tell('warn'), error: tell('error') });
      hide(scope, 'crypto', { randomUUID });
      for (const [name, value] of Object.entries({ fetch, storage, setTimeout, clearTimeout, queueMicrotask })) hide(scope, name, value);
      let run;
      try {
        run = new AsyncFunction('args', code);
      } catch (error) {
        return fail(error);
      }
      noCodeOfText();
      run(parse(args)).then(finish, fail);
    }

    /** @param {unknown} value */
    function finish(value) {
      if (typeof value === 'function' || typeof value === 'symbol') return fail(new TypeError('the result is no value of JSON'));
      try {
        end({ kind: 'done', json: jsonWithin(limits.output, value) ?? 'null' });
      } catch (error) {
        fail(error === tooLong ? new RangeError(`the result is longer than ${limits.output} characters`) : error);
      }
    }

    let begun = false;
    scope.addEventListener('message', (/** @type {MessageEvent} */ { data }) => {
      if (!begun) {
        begun = true;
        return start(data);
      }
      const asked = waiting.get(data.call);
      waiting.delete(data.call);
      if (data.error === undefined) asked?.resolve(parse(data.json));
      else asked?.reject(new TypeError(data.error));
    });
    scope.addEventListener('unhandledrejection', (/** @type {PromiseRejectionEvent} */ event) => fail(event.reason));
  }

  const page = window.parent;
  /** @param {Record<string, unknown>} message */
  const tell = (message) => page.postMessage({ toolyard: 'sandbox', ...message }, '*');

  /** @type {{ id: string, worker: Worker } | undefined} */
  let running;

  /**
   * @param {unknown} value
   * @param {number} limit
   */
  const text = (value, limit) => (typeof value === 'string' ? value.slice(0, limit) : '');

  /** @param {{ id: string, code: string, args: string, permissions: object, timeMs: number }} job */
  function run({ id, code, args, permissions, timeMs }) {
    const url = URL.createObjectURL(new Blob([`(${inside})(${JSON.stringify(LIMITS)})`], { type: 'text/javascript' }));
    const worker = new Worker(url);
    running = { id, worker };
    /** @type {{ level: string, text: string }[]} */
    const logs = [];
    let messages = 0;
    /** @param {Record<string, unknown>} message */
    const end = (message) => {
      clearTimeout(watch);
      worker.terminate();
      URL.revokeObjectURL(url);
      tell({ id, logs, ...message });
    };
    const limit = Math.min(Math.max(1, Number(timeMs) || 1), MAX_TIME_MS);
    const watch = setTimeout(() => end({ kind: 'failed', text: `it took longer than ${limit / 1000} s and was ended` }), limit);
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      end({ kind: 'failed', text: text(event.message, LIMITS.errorChars) || 'the worker could not be started' });
    });
    // Messages from the worker come from untrusted code.
    worker.addEventListener('message', ({ data }) => {
      messages += 1;
      if (messages > MAX_MESSAGES || typeof data !== 'object' || data === null)
        return end({ kind: 'failed', text: 'it sent too many messages' });
      if (data.kind === 'log') logs.push({ level: text(data.level, 10), text: text(data.text, LIMITS.lineChars) });
      if (data.kind === 'done') {
        const json = typeof data.json === 'string' && data.json.length <= LIMITS.output ? data.json : null;
        end(json === null ? { kind: 'failed', text: 'the result is too long' } : { kind: 'done', json });
      }
      if (data.kind === 'failed') end({ kind: 'failed', text: text(data.text, LIMITS.errorChars) });
      if (data.kind === 'storage' && Number.isInteger(data.call)) {
        tell({
          kind: 'storage',
          id,
          call: data.call,
          op: text(data.op, 10),
          key: text(data.key, LIMITS.keyChars),
          value: text(data.value, LIMITS.valueChars),
        });
      }
    });
    worker.postMessage({ code, args, permissions });
  }

  window.addEventListener('message', ({ source, data }) => {
    if (source !== page || typeof data !== 'object' || data === null) return;
    if (data.kind === 'run' && running === undefined) run(data);
    else if (data.kind === 'stored' && data.id === running?.id) {
      running?.worker.postMessage({
        call: data.call,
        ...(typeof data.error === 'string' ? { error: data.error } : { json: String(data.json) }),
      });
    }
  });
  tell({ kind: 'ready' });
})();
