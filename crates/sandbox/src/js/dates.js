// Dates. The sandbox lives in UTC wherever it runs: the engine would ask the machine for its zone. The present comes from
// the host, with the permission `clock` only. Other zones are shown by the host.
const NativeDate = globalThis.Date;
const D = NativeDate.prototype;
const getTime = uncurry(D.getTime);
const toUTC = uncurry(D.toUTCString);
const nativeDateParse = NativeDate.parse;

function now() {
  const time = host.now();
  if (time !== time) {
    throw new Error('the present time needs the permission `clock`; `new Date(value)` works without it');
  }
  return time;
}

const HAS_ZONE = /(?:z|gmt|utc?|[ecmp][sd]t|[+-]\d\d(?::?\d\d)?)\s*(?:\(.*\))?\s*$/i;
const DATE_ONLY = /^[+-]?\d{4,6}(?:-\d\d(?:-\d\d)?)?$/;
const test = uncurry(RegExp.prototype.exec);

function parseDate(text) {
  // The expressions look at each character a few times; a date is short.
  const whole = sliceText(String(text), 0, 100);
  if (test(DATE_ONLY, whole) || (test(HAS_ZONE, whole) && !test(/^[^:]*$/, whole))) return nativeDateParse(whole);
  const time = nativeDateParse(whole + 'Z');
  return time === time ? time : nativeDateParse(whole + ' UTC');
}

function primitive(value) {
  if (!isObject(value)) return value;
  try {
    return getTime(value);
  } catch {
    const own = value[Symbol.toPrimitive];
    if (own !== undefined && own !== null) return apply(own, value, ['default']);
    const plain = value.valueOf();
    return isObject(plain) ? value.toString() : plain;
  }
}

function timeOf(args) {
  if (args.length === 0) return now();
  if (args.length > 1) return apply(NativeDate.UTC, undefined, args);
  const value = primitive(args[0]);
  return typeof value === 'string' ? parseDate(value) : Number(value);
}

const DateHere = function Date(...args) {
  if (new.target === undefined) return wholeText(new NativeDate(now()));
  return construct(NativeDate, [timeOf(args)], new.target);
};
Object.defineProperty(DateHere, 'prototype', { value: D, writable: false, enumerable: false });
Object.defineProperty(DateHere, 'length', { value: 7 });
install(DateHere, { now: () => now(), parse: (text) => parseDate(text), UTC: NativeDate.UTC });
hide(D, 'constructor', DateHere);
hide(globalThis, 'Date', DateHere);

const PARTS = ['FullYear', 'Month', 'Date', 'Hours', 'Minutes', 'Seconds', 'Milliseconds', 'Day'];
for (const part of PARTS) {
  hide(D, `get${part}`, D[`getUTC${part}`]);
  if (part !== 'Day') hide(D, `set${part}`, D[`setUTC${part}`]);
}
delete D.getYear;
delete D.setYear;

function textOf(date, write) {
  const time = getTime(date);
  return time === time ? write(splitText(toUTC(date), ' ')) : 'Invalid Date';
}
const dayText = (date) => textOf(date, (p) => `${sliceText(p[0], 0, 3)} ${p[2]} ${p[1]} ${p[3]}`);
const clockText = (date) => textOf(date, (p) => `${p[4]} GMT+0000 (Coordinated Universal Time)`);
function wholeText(date) {
  const day = dayText(date);
  return day === 'Invalid Date' ? day : `${day} ${clockText(date)}`;
}

const OPTIONS = [
  ...['timeZone', 'hour12', 'hourCycle', 'dateStyle', 'timeStyle', 'weekday', 'year', 'month', 'day', 'hour', 'minute'],
  ...['second', 'timeZoneName'],
];
const MAX_OPTION = 100;

function readOptions(options) {
  const read = { __proto__: null };
  if (options === undefined) return read;
  for (let i = 0; i < OPTIONS.length; i++) {
    const value = options[OPTIONS[i]];
    if (value === undefined) continue;
    read[OPTIONS[i]] = OPTIONS[i] === 'hour12' ? !!value : wellFormed(sliceText(String(value), 0, MAX_OPTION));
  }
  return read;
}

// `need` and `defaults` are what is shown at least: date, time or both.
function partsOf(time, read, need, defaults) {
  if (time !== time) return undefined;
  return nativeParse(host.format(time, nativeStringify(read), need, defaults));
}

function join(parts) {
  if (parts === undefined) return 'Invalid Date';
  let text = '';
  for (let i = 0; i < parts.length; i++) text += parts[i].value;
  return text;
}

install(D, {
  toString() {
    return wholeText(this);
  },
  toDateString() {
    return dayText(this);
  },
  toTimeString() {
    return clockText(this);
  },
  getTimezoneOffset() {
    return getTime(this) * 0 + 0;
  },
  toLocaleString(_locales, options) {
    return join(partsOf(getTime(this), readOptions(options), 'any', 'all'));
  },
  toLocaleDateString(_locales, options) {
    return join(partsOf(getTime(this), readOptions(options), 'date', 'date'));
  },
  toLocaleTimeString(_locales, options) {
    return join(partsOf(getTime(this), readOptions(options), 'time', 'time'));
  },
});

function DateTimeFormat(_locales, options) {
  const read = readOptions(options);
  // Once now, so that a wrong option is told here and not at the first use.
  const timeZone = host.zone(nativeStringify(read));
  const parts = (date) => {
    const time = date === undefined ? now() : Number(primitive(date));
    const shown = partsOf(time, read, 'any', 'date');
    if (shown === undefined) throw new RangeError('Invalid time value');
    return shown;
  };
  const own = new.target === undefined ? create(DateTimeFormat.prototype) : this;
  install(own, {
    format: (date) => join(parts(date)),
    formatToParts: (date) => parts(date),
    resolvedOptions: () => ({ locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone }),
  });
  return own;
}

hide(globalThis, 'Intl', { DateTimeFormat });
