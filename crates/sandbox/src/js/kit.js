// What the other parts use, taken before any foreign code runs. Nothing here is looked up again later, so a plugin that
// changes a prototype or a global changes it for itself only. For the same reason the parts use no spread, no `for of`
// and no destructuring of arrays once foreign code can run.
const { Array, Error, EvalError, JSON, Map, Math, Number, Object, Promise, RangeError, Reflect, String, TypeError } =
  globalThis;
const { apply, construct } = Reflect;
const { isArray } = Array;
const { create, getPrototypeOf, hasOwn, keys } = Object;
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const nativeStringify = JSON.stringify;
const nativeParse = JSON.parse;
const sliceText = uncurry(String.prototype.slice);
const lower = uncurry(String.prototype.toLowerCase);
const upper = uncurry(String.prototype.toUpperCase);
const splitText = uncurry(String.prototype.split);
const wellFormed = uncurry(String.prototype.toWellFormed);
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const mapDelete = uncurry(Map.prototype.delete);
const mapSize = uncurry(Object.getOwnPropertyDescriptor(Map.prototype, 'size').get);

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

function hide(target, name, value) {
  Object.defineProperty(target, name, {
    __proto__: null,
    value,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}

function install(target, methods) {
  for (const name of Reflect.ownKeys(methods)) hide(target, name, methods[name]);
}

// The engine looks at the clock once in 10,000 turns of a loop or calls of a function, however long one of them takes
// inside the engine. So work in there is paid for: after enough of it we look ourselves, and when the time is over we
// turn in a loop until the engine looks too and ends the run. Nothing can catch that.
const UNITS_BETWEEN_LOOKS = 200000;
let owed = 0;

function pay(units) {
  if (units > 0) owed += units;
  if (owed < UNITS_BETWEEN_LOOKS) return;
  owed = 0;
  if (host.isOver()) for (;;);
}

// Writes JSON of at most so many characters; undefined if there is no JSON of it, as the engine has it. The engine alone
// goes on writing when its memory is full, for ever if the value holds itself often enough; a function that it has to call
// for each part can end it.
const tooLong = { __proto__: null };

function jsonWithin(limit, value, replacer, space) {
  let length = 0;
  const count = function (key, part) {
    const kept = replacer === undefined ? part : apply(replacer, this, [key, part]);
    length += key.length + (typeof kept === 'string' ? kept.length : 1);
    if (length > limit) throw tooLong;
    return kept;
  };
  return nativeStringify(value, count, space);
}
