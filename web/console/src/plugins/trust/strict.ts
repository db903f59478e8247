/**
 * Unambiguous JSON, like `protocol::plugin::strict`: duplicate names in an object, unpaired surrogates and integers beyond 2^53 are
 * rejected, because two parsers could read them differently.
 */
import { ManifestProblem } from './problem';

export type Json = null | boolean | number | string | Json[] | JsonObject;
/** Without a prototype, so that every name is allowed. */
export type JsonObject = { [name: string]: Json };

const MAX_INTEGER = 2n ** 53n;
/** Larger numbers are written with an exponent. */
const EXPONENT_FROM = 1e21;
/** The same depth as on the server. */
const MAX_DEPTH = 127;
const TOO_LARGE = 'integers beyond 2^53 are not the same in every reader; write it as a text';
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORDS: readonly [string, Json][] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** Parses the document, or throws a problem with the ambiguous location. */
export function readStrict(text: string): Json {
  return new Reader(text).document();
}

class Reader {
  #at = 0;
  #path: string[] = [];

  constructor(readonly text: string) {}

  document(): Json {
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.text.length) this.#notJson('characters behind the end');
    return value;
  }

  #value(depth: number): Json {
    if (depth > MAX_DEPTH) this.#notJson('nested too deep');
    this.#space();
    const sign = this.text[this.#at];
    if (sign === '{') return this.#object(depth);
    if (sign === '[') return this.#array(depth);
    if (sign === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    return this.#number();
  }

  #object(depth: number): JsonObject {
    const members = Object.create(null) as JsonObject;
    this.#at += 1;
    if (this.#takes('}')) return members;
    do {
      this.#space();
      if (this.text[this.#at] !== '"') this.#notJson('expected the name of a member');
      const name = this.#string();
      this.#path.push(this.#path.length === 0 ? name : `.${name}`);
      if (Object.hasOwn(members, name)) this.#refuse('duplicate name in one object; keep one');
      this.#needs(':');
      members[name] = this.#value(depth + 1);
      this.#path.pop();
    } while (this.#takes(','));
    this.#needs('}');
    return members;
  }

  #array(depth: number): Json[] {
    const items: Json[] = [];
    this.#at += 1;
    if (this.#takes(']')) return items;
    do {
      this.#path.push(`[${items.length}]`);
      items.push(this.#value(depth + 1));
      this.#path.pop();
    } while (this.#takes(','));
    this.#needs(']');
    return items;
  }

  #string(): string {
    const from = this.#at;
    for (this.#at += 1; this.text[this.#at] !== '"'; this.#at += 1) {
      if (this.#at >= this.text.length) this.#notJson('a text without an end');
      if (this.text[this.#at] === '\\') this.#at += 1;
    }
    this.#at += 1;
    let text = '';
    try {
      text = JSON.parse(this.text.slice(from, this.#at)) as string;
    } catch {
      this.#notJson('a text with a wrong character or escape');
    }
    if (!text.isWellFormed()) this.#notJson('half of a surrogate pair');
    return text;
  }

  #number(): number {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.text);
    if (match === null) this.#notJson('expected a value');
    const [written, fraction, exponent] = match;
    this.#at += written.length;
    const value = Number(written);
    if (!Number.isFinite(value)) this.#notJson('number out of range');
    if (fraction === undefined && exponent === undefined) {
      const exact = BigInt(written);
      if (exact > MAX_INTEGER || exact < -MAX_INTEGER) this.#refuse(TOO_LARGE);
    } else {
      const size = Math.abs(value);
      if (size > Number(MAX_INTEGER) && size < EXPONENT_FROM) this.#refuse(TOO_LARGE);
    }
    return value === 0 ? 0 : value;
  }

  #space(): void {
    while (' \t\n\r'.includes(this.text[this.#at] ?? 'x')) this.#at += 1;
  }

  #takes(sign: string): boolean {
    this.#space();
    if (this.text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #needs(sign: string): void {
    if (!this.#takes(sign)) this.#notJson(`expected \`${sign}\``);
  }

  #refuse(why: string): never {
    throw new ManifestProblem(this.#path.join('').slice(0, 200), why);
  }

  #notJson(why: string): never {
    const line = this.text.slice(0, this.#at).split('\n').length;
    throw new ManifestProblem('', `not JSON: ${why} in line ${line}`);
  }
}
