// What a plugin finds besides the language, and the few functions that the host calls.

const waiting = new Map();
const timers = new Map();

// Makes a call of the host. The answer settles the promise, through `settle`.
function ask(kind, details) {
  const id = host.ask(kind, nativeStringify(details));
  return new Promise((resolve, reject) => {
    mapSet(waiting, id, { __proto__: null, resolve, reject });
  });
}

function short(value, limit, what) {
  const text = String(value);
  if (text.length > limit) throw new TypeError(`${what} is longer than ${limit} characters`);
  return wellFormed(text);
}

function writeWithin(limit, value, what) {
  try {
    return jsonWithin(limit, value);
  } catch (error) {
    throw error === tooLong ? new TypeError(`${what} is longer than ${limit} characters`) : error;
  }
}

function readHeaders(given) {
  const headers = { __proto__: null };
  if (!isObject(given)) return headers;
  const pairs = isArray(given);
  const names = pairs ? given : keys(given);
  for (let i = 0; i < names.length; i++) {
    if (i >= host.maxHeaders) throw new TypeError(`fetch takes at most ${host.maxHeaders} headers`);
    const name = pairs ? names[i][0] : names[i];
    headers[lower(short(name, 200, 'the name of a header'))] = short(
      pairs ? names[i][1] : given[name],
      host.maxHeaderBytes,
      'a header',
    );
  }
  return headers;
}

function response(answer) {
  const { body, headers, status } = answer;
  return {
    ok: status >= 200 && status < 300,
    status,
    url: answer.url,
    redirected: answer.redirected,
    headers: {
      get(name) {
        const wanted = lower(String(name));
        return hasOwn(headers, wanted) ? headers[wanted] : null;
      },
      has: (name) => hasOwn(headers, lower(String(name))),
      keys: () => keys(headers),
    },
    text: async () => body,
    json: async () => nativeParse(body),
  };
}

async function fetch(url, options) {
  const given = isObject(options) ? options : { __proto__: null };
  const body = given.body;
  if (isObject(body)) throw new TypeError('the body of fetch has to be a text; use JSON.stringify');
  return ask('fetch', {
    __proto__: null,
    url: short(url, host.maxUrl, 'the URL'),
    method: upper(short(given.method ?? 'GET', 20, 'the method')),
    headers: readHeaders(given.headers),
    body: body === undefined || body === null ? null : short(body, host.maxBody, 'the body'),
  });
}

const key = (value) => short(value, host.maxKey, 'the key');

const storage = {
  get: async (name) => ask('get', { __proto__: null, key: key(name) }),
  async set(name, value) {
    const text = writeWithin(host.maxValue, value, 'the value');
    if (text === undefined) throw new TypeError('storage keeps what can be written as JSON; use delete to remove a key');
    return ask('set', { __proto__: null, key: key(name), value: short(text, host.maxValue, 'the value') });
  },
  delete: async (name) => ask('delete', { __proto__: null, key: key(name) }),
  keys: async () => ask('keys', { __proto__: null }),
};

function setTimeout(callback, delay, ...args) {
  if (typeof callback !== 'function') throw new TypeError('setTimeout needs a function');
  if (mapSize(timers) >= host.maxTimers) throw new RangeError(`at most ${host.maxTimers} timers at a time`);
  const id = host.timer(Number(delay) || 0);
  mapSet(timers, id, () => apply(callback, undefined, args));
  return id;
}

function clearTimeout(id) {
  if (mapDelete(timers, id)) host.clearTimer(id);
}

const nativeMicrotask = globalThis.queueMicrotask;

// An error that nobody can catch ends the run, instead of being lost.
function queueMicrotask(callback) {
  if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
  nativeMicrotask(() => {
    try {
      callback();
    } catch (error) {
      const told = describe(error);
      host.uncaught(told.name, told.text, told.stack);
    }
  });
}

// Longer than any line: what is cut off costs something too.
const MAX_SHOWN = 100000;

function shown(value) {
  try {
    if (typeof value === 'string') return value;
    if (!isObject(value)) return String(value);
    if (typeof value.message === 'string' && typeof value.stack === 'string') return `${value.name}: ${value.message}`;
    const text = jsonWithin(MAX_SHOWN, value);
    return typeof text === 'string' ? text : String(value);
  } catch (error) {
    return error === tooLong ? '[too large to be shown]' : '[cannot be shown]';
  }
}

function log(level, values) {
  let line = '';
  for (let i = 0; i < values.length && line.length <= host.maxLine; i++) {
    line += (i === 0 ? '' : ' ') + sliceText(shown(values[i]), 0, host.maxLine);
  }
  host.log(level, wellFormed(sliceText(line, 0, host.maxLine)));
}

hide(globalThis, 'console', {
  log: (...values) => log('info', values),
  info: (...values) => log('info', values),
  debug: (...values) => log('debug', values),
  warn: (...values) => log('warn', values),
  error: (...values) => log('error', values),
});
hide(globalThis, 'crypto', { randomUUID: () => host.uuid() });
install(Math, { random: () => host.random() });
install(globalThis, { fetch, storage, setTimeout, clearTimeout, queueMicrotask });

function describe(error) {
  const told = { __proto__: null, name: '', text: '', stack: '' };
  try {
    if (!isObject(error)) {
      told.text = String(error);
    } else if (typeof error.message === 'string') {
      told.name = typeof error.name === 'string' ? error.name : 'Error';
      told.text = error.message;
      if (typeof error.stack === 'string') told.stack = error.stack;
    } else {
      told.text = shown(error);
    }
  } catch {
    told.text = 'an error that cannot be shown';
  }
  told.name = wellFormed(sliceText(told.name, 0, 100));
  told.text = wellFormed(sliceText(told.text, 0, host.maxError));
  told.stack = wellFormed(sliceText(told.stack, 0, 4096));
  return told;
}

return {
  __proto__: null,
  describe,
  start: (run, args) => run(nativeParse(args)),
  // The result as JSON; zero if it is too long; nothing if it is no value of JSON.
  json(value) {
    if (typeof value === 'function' || typeof value === 'symbol') return undefined;
    try {
      const text = jsonWithin(host.maxOutput, value);
      return text === undefined ? 'null' : text;
    } catch (error) {
      if (error === tooLong) return 0;
      throw error;
    }
  },
  settle(id, kind, text) {
    const { resolve, reject } = mapGet(waiting, id);
    mapDelete(waiting, id);
    if (kind === 'error') {
      reject(new TypeError(text));
      return;
    }
    let value;
    try {
      value = nativeParse(text);
    } catch (error) {
      // What is stored may come from elsewhere, and the memory may be full.
      reject(error);
      return;
    }
    resolve(kind === 'response' ? response(value) : value);
  },
  fire(id) {
    const callback = mapGet(timers, id);
    mapDelete(timers, id);
    if (callback !== undefined) callback();
  },
};
