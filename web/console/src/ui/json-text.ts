/**
 * JSON as the user types it: errors with line and a message that does not depend on the browser, and the location of each member, so that
 * server errors can be shown at their line.
 */
export interface Place {
  line: number;
  column: number;
}

export type ParsedJson =
  | { ok: true; value: unknown /** By path, such as `.properties.unit.type` or `.required.0`. */; places: ReadonlyMap<string, Place> }
  | { ok: false; message: string; at: Place };

const DEEPEST = 100;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

class Wrong extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message);
  }
}

export function parseJson(text: string): ParsedJson {
  const scanner = new Scanner(text);
  try {
    scanner.document();
    const places = new Map([...scanner.offsets].map(([path, offset]) => [path, placeOf(text, offset)]));
    return { ok: true, value: JSON.parse(text) as unknown, places };
  } catch (error) {
    if (error instanceof Wrong) return { ok: false, message: error.message, at: placeOf(text, error.offset) };
    return { ok: false, message: 'not JSON', at: { line: 1, column: 1 } };
  }
}

/** The location of a path, or of its nearest existing parent. Also accepts `tools[0].a` and `.a[1]`. */
export function placeIn(places: ReadonlyMap<string, Place>, path: string): Place | undefined {
  let left = path.replace(/\[(\d+)\]/g, '.$1');
  if (left !== '' && !left.startsWith('.')) left = `.${left}`;
  for (;;) {
    const found = places.get(left);
    if (found !== undefined || left === '') return found;
    left = left.slice(0, left.lastIndexOf('.'));
  }
}

function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const lines = before.split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

class Scanner {
  readonly offsets = new Map<string, number>();
  private at = 0;

  constructor(private readonly text: string) {}

  document(): void {
    this.space();
    if (this.at === this.text.length) throw new Wrong('empty; expected a value', this.at);
    this.value('', 0);
    this.space();
    if (this.at < this.text.length) throw new Wrong(`${this.found()} after the end`, this.at);
  }

  private value(path: string, depth: number): void {
    if (depth > DEEPEST) throw new Wrong(`nested deeper than ${DEEPEST}`, this.at);
    this.offsets.set(path, this.at);
    const sign = this.text[this.at];
    if (sign === '{') this.object(path, depth);
    else if (sign === '[') this.array(path, depth);
    else if (sign === '"') this.string();
    else if (!this.match(NUMBER) && !this.match(WORD)) throw new Wrong(`expected a value, found ${this.found()}`, this.at);
  }

  private object(path: string, depth: number): void {
    const names = new Set<string>();
    this.at += 1;
    this.space();
    if (this.take('}')) return;
    for (;;) {
      const start = this.at;
      if (this.text[this.at] !== '"') throw new Wrong(`expected a name in double quotes, found ${this.found()}`, this.at);
      const name = this.string();
      if (names.has(name)) throw new Wrong(`duplicate name "${name}"`, start);
      names.add(name);
      this.space();
      if (!this.take(':')) throw new Wrong(`expected a colon after "${name}", found ${this.found()}`, this.at);
      this.space();
      this.value(`${path}.${name}`, depth + 1);
      // The line of the name is the line that people look for.
      this.offsets.set(`${path}.${name}`, start);
      this.space();
      if (this.take('}')) return;
      this.comma('}');
    }
  }

  private array(path: string, depth: number): void {
    this.at += 1;
    this.space();
    if (this.take(']')) return;
    for (let index = 0; ; index += 1) {
      this.value(`${path}.${index}`, depth + 1);
      this.space();
      if (this.take(']')) return;
      this.comma(']');
    }
  }

  private comma(end: '}' | ']'): void {
    const here = this.at;
    if (!this.take(',')) throw new Wrong(`expected a comma or ${end}, found ${this.found()}`, this.at);
    this.space();
    if (this.text[this.at] === end) throw new Wrong('a trailing comma', here);
  }

  private string(): string {
    const start = this.at;
    for (this.at += 1; this.at < this.text.length; this.at += 1) {
      const sign = this.text[this.at] ?? '';
      if (sign === '"') {
        this.at += 1;
        try {
          return JSON.parse(this.text.slice(start, this.at)) as string;
        } catch {
          throw new Wrong('an invalid escape sequence', start);
        }
      }
      if (sign === '\\') this.at += 1;
      else if (sign === '\n') throw new Wrong('a string that does not end on its line', start);
      else if (sign < ' ') throw new Wrong('a control character in a string', this.at);
    }
    throw new Wrong('a string that does not end', start);
  }

  private match(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return false;
    this.at += found[0].length;
    return true;
  }

  private take(sign: string): boolean {
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  private space(): void {
    while (' \t\r\n'.includes(this.text[this.at] ?? 'x')) this.at += 1;
  }

  private found(): string {
    const sign = this.text.slice(this.at, this.at + 1);
    return sign === '' ? 'the end' : `\`${sign}\``;
  }
}
