// Built-in functions that would run for hours, or for ever, inside the engine, where nothing can stop them: here they
// refuse, or are written so that the engine can end them.

// Longer arrays have holes: their elements would not fit into the memory.
const MAX_LENGTH = 1 << 22;
// A text to look for that is longer may make a search as slow as the product of both lengths.
const SHORT_TEXT = 64;
const MAX_SEARCH = 1e8;

const isRealArray = (value) => isArray(value) && !host.isProxy(value);

// For each hole of an array the engine walks along all its prototypes.
const MAX_LOOKUPS = 4 * MAX_LENGTH;

function measureArray(array) {
  const { length } = array;
  measure(length);
  let depth = 0;
  for (let next = getPrototypeOf(array); next !== null; next = getPrototypeOf(next)) {
    // Counted while we walk: a proxy may have no end of prototypes.
    if (++depth * length > MAX_LOOKUPS) {
      throw new RangeError(`an array of length ${length} with this many prototypes is too much for this in the sandbox`);
    }
  }
  pay(length * depth);
}

function measure(length) {
  if (length > MAX_LENGTH) throw new RangeError(`an array of length ${length} is too long for this in the sandbox`);
  pay(length);
}

// The array itself, or a copy of something like an array, made in a loop that can be ended.
function asArray(value, method) {
  if (isRealArray(value)) {
    measureArray(value);
    return value;
  }
  if (value === null || value === undefined) throw new TypeError(`${method} needs an array`);
  const like = Object(value);
  const length = Number(like.length) || 0;
  measure(length);
  const copy = [];
  for (let i = 0; i < length; i++) copy[i] = like[i];
  return copy;
}

for (const name of ['reverse', 'copyWithin', 'unshift', 'shift', 'splice', 'sort', 'fill']) {
  const native = Array.prototype[name];
  install(Array.prototype, {
    [name](...args) {
      if (!isRealArray(this)) throw new TypeError(`${name} works on arrays only in the sandbox`);
      measureArray(this);
      return apply(native, this, args);
    },
  });
}

for (const name of ['slice', 'join', 'toReversed', 'toSorted', 'toSpliced', 'with', 'toLocaleString']) {
  const native = Array.prototype[name];
  install(Array.prototype, {
    [name](...args) {
      return apply(native, asArray(this, name), args);
    },
  });
}

const nativeConcat = Array.prototype.concat;
const nativeMap = Array.prototype.map;
const { isConcatSpreadable } = Symbol;

function flatten(into, array, depth) {
  const length = array.length;
  for (let i = 0; i < length; i++) {
    if (!(i in array)) continue;
    const item = array[i];
    if (depth > 0 && isArray(item)) flatten(into, item, depth - 1);
    else into[into.length] = item;
  }
  return into;
}

install(Array.prototype, {
  concat(...items) {
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (isRealArray(item)) measureArray(item);
      else if (isObject(item)) items[i] = item[isConcatSpreadable] ? asArray(item, 'concat') : [item];
    }
    return apply(nativeConcat, isRealArray(this) ? asArray(this, 'concat') : [this], items);
  },
  flat(depth = 1) {
    return flatten([], asArray(this, 'flat'), Number(depth) || 0);
  },
  flatMap(mapper, self) {
    return flatten([], apply(nativeMap, asArray(this, 'flatMap'), [mapper, self]), 1);
  },
});

function asText(value, method) {
  if (value === null || value === undefined) throw new TypeError(`${method} needs a text`);
  return typeof value === 'string' ? value : String(value);
}

for (const name of [
  ...['concat', 'endsWith', 'isWellFormed', 'localeCompare', 'match', 'matchAll', 'normalize', 'search', 'slice'],
  ...['startsWith', 'substr', 'substring', 'toLocaleLowerCase', 'toLocaleUpperCase', 'toLowerCase', 'toUpperCase'],
  ...['toWellFormed', 'trim', 'trimEnd', 'trimStart'],
]) {
  const native = String.prototype[name];
  install(String.prototype, {
    [name](...args) {
      const text = asText(this, name);
      pay(text.length >> 3);
      return apply(native, text, args);
    },
  });
}

for (const name of ['repeat', 'padStart', 'padEnd']) {
  const native = String.prototype[name];
  install(String.prototype, {
    [name](...args) {
      const text = asText(this, name);
      const count = Number(args[0]) || 0;
      args[0] = count;
      pay(name === 'repeat' ? text.length * count : count);
      return apply(native, text, args);
    },
  });
}

// These look for a text. Where a pattern has a way of its own (regular expressions do), the engine looks at the clock.
for (const { name, own } of [
  { name: 'indexOf' },
  { name: 'lastIndexOf' },
  { name: 'includes', own: Symbol.match },
  { name: 'split', own: Symbol.split },
  { name: 'replace', own: Symbol.replace },
  { name: 'replaceAll', own: Symbol.replace },
]) {
  const native = String.prototype[name];
  install(String.prototype, {
    [name](...args) {
      const text = asText(this, name);
      pay(text.length);
      const pattern = args[0];
      if (own === undefined || !isObject(pattern) || !pattern[own]) {
        // `split` alone takes an absent separator for what it is.
        if (pattern === undefined && name === 'split') return apply(native, text, args);
        const sought = String(pattern);
        if (sought.length > SHORT_TEXT) {
          const work = text.length * sought.length;
          if (work > MAX_SEARCH) {
            throw new RangeError(`${name}: a text of ${sought.length} characters is too long to look for in this one`);
          }
          pay(work);
        }
        args[0] = sought;
      }
      return apply(native, text, args);
    },
  });
}

install(String, {
  raw(strings, ...values) {
    const { raw } = strings;
    const length = Number(raw.length) || 0;
    let text = '';
    for (let i = 0; i < length; i++) {
      text += String(raw[i]);
      if (i + 1 < length && i < values.length) text += String(values[i]);
    }
    return text;
  },
});

install(JSON, {
  parse(text, reviver) {
    const whole = String(text);
    pay(whole.length);
    return nativeParse(whole, reviver);
  },
  stringify(value, replacer, space) {
    let chosen = typeof replacer === 'function' ? replacer : undefined;
    if (isArray(replacer)) {
      const wanted = { __proto__: null };
      const list = asArray(replacer, 'stringify');
      for (let i = 0; i < list.length; i++) wanted[list[i]] = true;
      chosen = function (key, part) {
        return key === '' || isArray(this) || wanted[key] ? part : undefined;
      };
    }
    try {
      const text = jsonWithin(host.maxText, value, chosen, space);
      pay(text === undefined ? 1 : text.length);
      return text;
    } catch (error) {
      // It may have filled the memory before it failed.
      pay(UNITS_BETWEEN_LOOKS);
      throw error === tooLong ? new RangeError('the JSON would not fit into the memory') : error;
    }
  },
});

// What was read and signed is what runs: text never becomes code. It also keeps the compiler, which cannot be ended,
// away from texts of any size.
const NoFunction = function Function() {
  throw new EvalError('text cannot be turned into code in the sandbox; write the function itself');
};
const functions = [function () {}, async function () {}, function* () {}, async function* () {}];
for (const one of functions) {
  const prototype = Object.getPrototypeOf(one);
  Object.defineProperty(prototype, 'constructor', { value: NoFunction, configurable: false, writable: false });
}
Object.defineProperty(NoFunction, 'prototype', { value: Object.getPrototypeOf(functions[0]), writable: false });
hide(globalThis, 'Function', NoFunction);
delete globalThis.eval;

// Shared memory makes a clock. The stack hooks hand out functions of the engine and of this file.
delete globalThis.Atomics;
delete globalThis.SharedArrayBuffer;
delete Error.captureStackTrace;
delete Error.prepareStackTrace;
delete Error.stackTraceLimit;
