/**
 * Converts a schema to rows of a form and back; rows of objects contain rows. Keywords without a field are kept with the row. A schema
 * that rows cannot show stays a schema, with a reason.
 */
import { isObject, isText, newKey, isSameJson, withoutMembers, type Json } from './json';

export const TYPES = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'integer', label: 'Whole number' },
  { value: 'boolean', label: 'Yes or no' },
  { value: 'object', label: 'Object' },
  { value: 'string[]', label: 'List of texts' },
  { value: 'number[]', label: 'List of numbers' },
  { value: 'integer[]', label: 'List of whole numbers' },
  { value: 'boolean[]', label: 'List of yes or no' },
  { value: 'object[]', label: 'List of objects' },
] as const;

export type RowType = (typeof TYPES)[number]['value'];

export interface Row {
  key: string;
  name: string;
  type: RowType;
  /** Also accepts `null`. */
  nullable: boolean;
  description: string;
  required: boolean;
  /** Allowed values, one per line. */
  choices: string;
  /** The default value; empty: none. */
  preset: string;
  /** The members of an object, or of the objects in a list. */
  rows: Row[];
  /** Other keywords of the property, such as `minLength`. */
  rest: Json;
  /** Other keywords of `items`. */
  itemsRest: Json;
}

export interface Rows {
  rows: Row[];
  /** Other keywords of the schema itself. */
  rest: Json;
}

export interface RowProblem {
  key: string;
  field: 'name' | 'choices' | 'preset';
  message: string;
}

/** Maximum nesting of objects in the form. */
const DEEPEST = 6;
/** Keywords that a row cannot express. */
const TOO_MUCH = ['$ref', '$dynamicRef', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'patternProperties'];

export const hasMembers = (type: RowType) => type === 'object' || type === 'object[]';
/** Lists and objects have no default that fits on one line; booleans have no choices. */
export const hasChoices = (type: RowType) => !hasMembers(type) && type !== 'boolean' && type !== 'boolean[]';
export const hasPreset = (type: RowType) => !type.endsWith('[]') && !hasMembers(type);

export const newRow = (): Row => ({
  key: newKey(),
  name: '',
  type: 'string',
  nullable: false,
  description: '',
  required: false,
  choices: '',
  preset: '',
  rows: [],
  rest: {},
  itemsRest: {},
});

class Beyond extends Error {}

/** The rows, or the reason why there are none. */
export function readRows(schema: unknown): Rows | { why: string } {
  try {
    if (!isObject(schema)) throw new Beyond('it is not an object');
    if (schema.type !== 'object') throw new Beyond('its type is not "object"');
    const read = { rows: membersOf(schema, '', 0), rest: withoutMembers(schema, 'type', 'properties', 'required') };
    const back = writeRows(read);
    // Final check: a schema that would not come back unchanged is not shown as rows.
    if (back.problems.length > 0 || !meanSame(back.schema, schema)) throw new Beyond('it uses keywords that the form does not support');
    return read;
  } catch (error) {
    if (error instanceof Beyond) return { why: error.message };
    throw error;
  }
}

/** Removes differences without meaning: the order of `required`, and empty lists. Also in nested objects. */
function plainly(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  if (schema.type === 'array' || (Array.isArray(schema.type) && schema.type.includes('array')))
    return 'items' in schema ? { ...schema, items: plainly(schema.items) } : schema;
  if (schema.type !== 'object' && !(Array.isArray(schema.type) && schema.type.includes('object'))) return schema;
  const required = Array.isArray(schema.required) ? [...(schema.required as unknown[])].sort() : [];
  const properties = isObject(schema.properties)
    ? Object.fromEntries(Object.entries(schema.properties).map(([name, part]) => [name, plainly(part)]))
    : {};
  return { ...schema, properties, required };
}

/** Whether two argument schemas mean the same. */
export function meanSame(a: unknown, b: unknown): boolean {
  return isObject(a) && isObject(b) && isSameJson(plainly(a), plainly(b));
}

/** Whether the members have the same order, which is the order in which people and models read them. */
export function haveSameOrder(a: unknown, b: unknown): boolean {
  return orderOf(a).join('\n') === orderOf(b).join('\n');
}

function orderOf(schema: unknown, path = ''): string[] {
  if (!isObject(schema)) return [];
  if ('items' in schema) return orderOf(schema.items, `${path}[]`);
  if (!isObject(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([name, part]) => [`${path}.${name}`, ...orderOf(part, `${path}.${name}`)]);
}

/** The rows of the members of an object. `path` is its location, for error messages. */
function membersOf(schema: Json, path: string, depth: number): Row[] {
  const what = path === '' ? '' : `"${path}": `;
  if (depth > DEEPEST) throw new Beyond(`"${path}" is nested deeper than the form shows`);
  refuse(schema, path === '' ? 'it' : `"${path}"`);
  const properties = schema.properties ?? {};
  const required = schema.required ?? [];
  if (!isObject(properties)) throw new Beyond(`${what}"properties" is not an object`);
  if (!Array.isArray(required)) throw new Beyond(`${what}"required" is not a list`);
  const unknown = required.find((name) => !isText(name) || !Object.hasOwn(properties, name)) as unknown;
  if (unknown !== undefined) throw new Beyond(`${what}"required" names ${JSON.stringify(unknown)}, which is not a property`);
  return Object.entries(properties).map(([name, property]) =>
    rowOf(name, path === '' ? name : `${path}.${name}`, property, required.includes(name), depth),
  );
}

function rowOf(name: string, path: string, property: unknown, required: boolean, depth: number): Row {
  if (!isObject(property)) throw new Beyond(`"${path}" has no type`);
  refuse(property, `"${path}"`);
  const { base, nullable } = typeOf(path, property.type);
  const row = { ...newRow(), name, required, nullable, description: isText(property.description) ? property.description : '' };
  if (base === 'object') {
    return {
      ...row,
      type: base,
      rows: membersOf(property, path, depth + 1),
      rest: withoutMembers(property, 'type', 'description', 'properties', 'required'),
    };
  }
  if (base !== 'array') {
    if (!isSimple(base)) throw new Beyond(`"${path}" has the type "${base}"`);
    const preset = presetOf(base, property.default);
    return {
      ...row,
      type: base,
      choices: choicesOf(path, property.enum),
      preset: preset ?? '',
      rest: withoutMembers(property, 'type', 'description', 'enum', ...(preset === undefined ? [] : ['default'])),
    };
  }
  return { ...row, ...itemsOf(path, property.items, depth), rest: withoutMembers(property, 'type', 'description', 'items') };
}

function itemsOf(path: string, items: unknown, depth: number): Pick<Row, 'type' | 'choices' | 'rows' | 'itemsRest'> {
  if (!isObject(items)) throw new Beyond(`"${path}" is a list of anything`);
  refuse(items, `"${path}"`);
  if (items.type === 'object') {
    return {
      type: 'object[]',
      choices: '',
      rows: membersOf(items, `${path}[]`, depth + 1),
      itemsRest: withoutMembers(items, 'type', 'properties', 'required'),
    };
  }
  if (!isText(items.type) || !isSimple(items.type)) throw new Beyond(`"${path}" is a list of a type that the form does not support`);
  return { type: `${items.type}[]`, choices: choicesOf(path, items.enum), rows: [], itemsRest: withoutMembers(items, 'type', 'enum') };
}

function refuse(schema: Json, what: string): void {
  const found = TOO_MUCH.find((keyword) => keyword in schema);
  if (found !== undefined) throw new Beyond(`${what} uses "${found}"`);
}

function typeOf(path: string, type: unknown): { base: string; nullable: boolean } {
  if (isText(type)) return { base: type, nullable: false };
  if (Array.isArray(type) && type.length === 2 && isText(type[0]) && type[1] === 'null') return { base: type[0], nullable: true };
  throw new Beyond(type === undefined ? `"${path}" has no type` : `"${path}" has several types`);
}

type Simple = 'string' | 'number' | 'integer' | 'boolean';
const isSimple = (type: string): type is Simple => ['string', 'number', 'integer', 'boolean'].includes(type);

function choicesOf(path: string, list: unknown): string {
  if (list === undefined) return '';
  if (!Array.isArray(list) || list.length === 0) throw new Beyond(`the "enum" of "${path}" is not a list of values`);
  if (list.some((one) => (isText(one) ? one.includes('\n') || one.trim() !== one || one === '' : typeof one !== 'number'))) {
    throw new Beyond(`the "enum" of "${path}" has values that do not fit on a line`);
  }
  return list.map(String).join('\n');
}

/** A default as the user types it; none if the field cannot express it, and then it stays with the row. */
function presetOf(type: Simple, value: unknown): string | undefined {
  if (type === 'string') return isText(value) && value !== '' && !value.includes('\n') ? value : undefined;
  if (type === 'boolean') return typeof value === 'boolean' ? String(value) : undefined;
  return typeof value === 'number' && (type === 'number' || Number.isInteger(value)) ? String(value) : undefined;
}

/** The schema of the rows, or the problems of the rows. */
export function writeRows({ rows, rest }: Rows): { schema: Json; problems: RowProblem[] } {
  const problems: RowProblem[] = [];
  const { title, description, ...others } = rest;
  const schema: Json = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    type: 'object',
    properties: {},
    ...writeMembers(rows, problems),
    ...others,
  };
  return { schema, problems };
}

/** `properties` and `required`, if there are any. */
function writeMembers(rows: readonly Row[], problems: RowProblem[]): Json {
  const properties: [string, Json][] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    if (row.name === '') problems.push({ key: row.key, field: 'name', message: 'Each parameter needs a name.' });
    else if (seen.has(row.name)) problems.push({ key: row.key, field: 'name', message: `"${row.name}" is used twice.` });
    seen.add(row.name);
    properties.push([row.name, propertyOf(row, problems)]);
  }
  const required = rows.filter((row) => row.required).map((row) => row.name);
  return {
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required }),
  };
}

function propertyOf(row: Row, problems: RowProblem[]): Json {
  const isList = row.type.endsWith('[]');
  const base = isList ? 'array' : row.type;
  const inner = isList ? row.type.slice(0, -2) : row.type;
  const about = { type: row.nullable ? [base, 'null'] : base, ...(row.description !== '' && { description: row.description }) };
  if (inner === 'object') {
    const members = writeMembers(row.rows, problems);
    return { ...about, ...(isList ? { items: { type: 'object', ...members, ...row.itemsRest } } : members), ...row.rest };
  }
  const choices = hasChoices(row.type)
    ? row.choices
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
    : [];
  const wrong = choices.find((choice) => !fits(inner, choice));
  if (wrong !== undefined)
    problems.push({
      key: row.key,
      field: 'choices',
      message: `"${wrong}" is ${inner === 'integer' ? 'not a whole number' : 'not a number'}.`,
    });
  const allowed = choices.length > 0 ? { enum: choices.map((choice) => parseValue(inner, choice)) } : {};
  return {
    ...about,
    ...(isList ? { items: { type: inner, ...allowed, ...row.itemsRest } } : { ...allowed, ...writePreset(row, choices, problems) }),
    ...row.rest,
  };
}

function writePreset(row: Row, choices: readonly string[], problems: RowProblem[]): Json {
  if (row.preset === '' || !hasPreset(row.type)) return {};
  const problem = (message: string) => problems.push({ key: row.key, field: 'preset', message });
  if (!fits(row.type, row.preset))
    problem(
      `"${row.preset}" is ${row.type === 'integer' ? 'not a whole number' : row.type === 'number' ? 'not a number' : 'neither true nor false'}.`,
    );
  else if (choices.length > 0 && !choices.includes(row.preset)) problem(`"${row.preset}" is not among the values.`);
  return { default: parseValue(row.type, row.preset) };
}

const parseValue = (type: string, text: string): unknown =>
  type === 'string' ? text : type === 'boolean' ? text === 'true' : Number(text);

function fits(type: string, text: string): boolean {
  if (type === 'boolean') return text === 'true' || text === 'false';
  if (type === 'number') return text.trim() !== '' && Number.isFinite(Number(text));
  return type !== 'integer' || (text.trim() !== '' && Number.isInteger(Number(text)));
}

/** The keywords that a row keeps in addition to its fields, as text. */
export function describeExtras(row: Row): string[] {
  const extras = [...Object.entries(row.rest), ...Object.entries(row.itemsRest)].map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return row.nullable ? ['null is allowed', ...extras] : extras;
}

/** The list with one row moved to another position. */
export function moveRow<T>(list: readonly T[], from: number, to: number): T[] {
  const left = list.filter((_, place) => place !== from);
  return [...left.slice(0, to), ...list.slice(from, from + 1), ...left.slice(to)];
}
