/** Small things about JSON values that the editor, the import and the diff share. */
export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === 'string';

/** A text that is the same for equal values, whatever the order of their members. */
export function stable(value: unknown): string {
  const sorted = (_: string, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  return JSON.stringify(value, sorted) ?? 'undefined';
}

export const same = (a: unknown, b: unknown) => stable(a) === stable(b);

/** The object with a member replaced where it stands, added, or with `undefined` removed. */
export function put(object: Json, name: string, value: unknown): Json {
  if (value !== undefined) return { ...object, [name]: value };
  const { [name]: _, ...rest } = object;
  return rest;
}

/** Everything but some members. */
export function without(object: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

export const pretty = (value: unknown) => JSON.stringify(value, null, 2) ?? '';

let made = 0;
/** A key for a row of a list that can be edited: names change while they are typed. */
export const newKey = () => `row-${++made}`;
