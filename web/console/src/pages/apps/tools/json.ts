/** JSON helpers that the editor, the import and the diff share. */
export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === 'string';

/** A string that is equal for equal values, regardless of the order of members. */
export function stableJson(value: unknown): string {
  const sorted = (_: string, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  return JSON.stringify(value, sorted) ?? 'undefined';
}

export const isSameJson = (a: unknown, b: unknown) => stableJson(a) === stableJson(b);

/** The object with one member replaced in place, added, or removed if `undefined`. */
export function withMember(object: Json, name: string, value: unknown): Json {
  if (value !== undefined) return { ...object, [name]: value };
  const { [name]: _, ...rest } = object;
  return rest;
}

/** A copy without some members. */
export function withoutMembers(object: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

export const formatJson = (value: unknown) => JSON.stringify(value, null, 2) ?? '';

let made = 0;
/** A key for a row of an editable list, because names change while they are typed. */
export const newKey = () => `row-${++made}`;
