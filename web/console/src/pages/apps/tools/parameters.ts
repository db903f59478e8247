/**
 * A schema as rows of a form, and back. What a row has no field for is kept beside it; a schema that rows cannot show stays
 * a schema, with the reason in words.
 */
import { isObject, isText, newKey, same, without, type Json } from './json';

export const TYPES = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'integer', label: 'Whole number' },
  { value: 'boolean', label: 'Yes or no' },
  { value: 'string[]', label: 'List of texts' },
  { value: 'number[]', label: 'List of numbers' },
  { value: 'integer[]', label: 'List of whole numbers' },
] as const;

export type RowType = (typeof TYPES)[number]['value'];

export interface Row {
  key: string;
  name: string;
  type: RowType;
  /** Takes `null` as well. */
  nullable: boolean;
  description: string;
  required: boolean;
  /** The only values, one a line. */
  choices: string;
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
  field: 'name' | 'choices';
  message: string;
}

/** Keywords that say more than a row can. */
const TOO_MUCH = ['$ref', '$dynamicRef', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'patternProperties'];

export const newRow = (): Row => ({
  key: newKey(),
  name: '',
  type: 'string',
  nullable: false,
  description: '',
  required: false,
  choices: '',
  rest: {},
  itemsRest: {},
});

class Beyond extends Error {}

/** The rows, or why there are none. */
export function readRows(schema: unknown): Rows | { why: string } {
  try {
    if (!isObject(schema)) throw new Beyond('it is not an object');
    const read = rowsOf(schema);
    const back = writeRows(read);
    // The last word: what would not come back as it was is not shown as rows.
    if (back.problems.length > 0 || !meanSame(back.schema, schema)) throw new Beyond('it says more than the form has fields for');
    return read;
  } catch (error) {
    if (error instanceof Beyond) return { why: error.message };
    throw error;
  }
}

/** Without what makes no difference: the order of the required, and lists that are empty. */
function plainly(schema: Json): Json {
  const required = Array.isArray(schema.required) ? [...(schema.required as unknown[])].sort() : [];
  return { ...schema, properties: schema.properties ?? {}, required };
}

/** Whether two schemas of arguments say the same. */
export function meanSame(a: unknown, b: unknown): boolean {
  return isObject(a) && isObject(b) && same(plainly(a), plainly(b));
}

function rowsOf(schema: Json): Rows {
  if (schema.type !== 'object') throw new Beyond('its type is not "object"');
  refuse(schema, 'it');
  const properties = schema.properties ?? {};
  const required = schema.required ?? [];
  if (!isObject(properties)) throw new Beyond('"properties" is not an object');
  if (!Array.isArray(required)) throw new Beyond('"required" is not a list');
  const unknown = required.find((name) => !isText(name) || !(name in properties)) as unknown;
  if (unknown !== undefined) throw new Beyond(`"required" names ${JSON.stringify(unknown)}, which is no property`);
  const rows = Object.entries(properties).map(([name, property]) => rowOf(name, property, required.includes(name)));
  return { rows, rest: without(schema, 'type', 'properties', 'required') };
}

function rowOf(name: string, property: unknown, required: boolean): Row {
  if (!isObject(property)) throw new Beyond(`"${name}" has no type`);
  refuse(property, `"${name}"`);
  const { base, nullable } = typeOf(name, property.type);
  const row = { ...newRow(), name, required, nullable, description: isText(property.description) ? property.description : '' };
  if (base !== 'array') {
    if (!isSimple(base)) throw new Beyond(base === 'object' ? `"${name}" is an object inside the arguments` : `"${name}" has the type "${base}"`);
    return { ...row, type: base, choices: choicesOf(name, property.enum), rest: without(property, 'type', 'description', 'enum') };
  }
  const { items } = property;
  if (!isObject(items)) throw new Beyond(`"${name}" is a list of anything`);
  refuse(items, `"${name}"`);
  if (items.type !== 'string' && items.type !== 'number' && items.type !== 'integer') throw new Beyond(`"${name}" is a list of something that is neither text nor number`);
  return {
    ...row,
    type: `${items.type}[]`,
    choices: choicesOf(name, items.enum),
    rest: without(property, 'type', 'description', 'items'),
    itemsRest: without(items, 'type', 'enum'),
  };
}

function refuse(schema: Json, what: string): void {
  const found = TOO_MUCH.find((keyword) => keyword in schema);
  if (found !== undefined) throw new Beyond(`${what} uses "${found}"`);
}

function typeOf(name: string, type: unknown): { base: string; nullable: boolean } {
  if (isText(type)) return { base: type, nullable: false };
  if (Array.isArray(type) && type.length === 2 && isText(type[0]) && type[1] === 'null') return { base: type[0], nullable: true };
  throw new Beyond(type === undefined ? `"${name}" has no type` : `"${name}" has several types`);
}

const isSimple = (type: string): type is 'string' | 'number' | 'integer' | 'boolean' => ['string', 'number', 'integer', 'boolean'].includes(type);

function choicesOf(name: string, list: unknown): string {
  if (list === undefined) return '';
  if (!Array.isArray(list) || list.length === 0) throw new Beyond(`the "enum" of "${name}" is not a list of values`);
  if (list.some((one) => (isText(one) ? one.includes('\n') || one.trim() !== one || one === '' : typeof one !== 'number'))) {
    throw new Beyond(`the "enum" of "${name}" has values that do not fit on a line`);
  }
  return list.map(String).join('\n');
}

/** The schema of the rows; where something is wrong with a row, what. */
export function writeRows({ rows, rest }: Rows): { schema: Json; problems: RowProblem[] } {
  const problems: RowProblem[] = [];
  const properties: [string, Json][] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    if (row.name === '') problems.push({ key: row.key, field: 'name', message: 'Each parameter needs a name.' });
    else if (seen.has(row.name)) problems.push({ key: row.key, field: 'name', message: `There is another "${row.name}".` });
    seen.add(row.name);
    properties.push([row.name, propertyOf(row, problems)]);
  }
  const required = rows.filter((row) => row.required).map((row) => row.name);
  const { title, description, ...others } = rest;
  const schema: Json = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...others,
  };
  return { schema, problems };
}

function propertyOf(row: Row, problems: RowProblem[]): Json {
  const isList = row.type.endsWith('[]');
  const base = isList ? 'array' : row.type;
  const simple = isList ? row.type.slice(0, -2) : row.type;
  const choices = row.choices.split('\n').map((line) => line.trim()).filter(Boolean);
  const wrong = choices.find((choice) => !fits(simple, choice));
  if (wrong !== undefined) problems.push({ key: row.key, field: 'choices', message: `"${wrong}" is ${simple === 'integer' ? 'no whole number' : 'no number'}.` });
  const values = simple === 'string' ? choices : choices.map(Number);
  const allowed = choices.length > 0 && simple !== 'boolean' ? { enum: values } : {};
  return {
    type: row.nullable ? [base, 'null'] : base,
    ...(row.description !== '' && { description: row.description }),
    ...(isList ? { items: { type: simple, ...allowed, ...row.itemsRest } } : allowed),
    ...row.rest,
  };
}

function fits(type: string, choice: string): boolean {
  if (type === 'number') return Number.isFinite(Number(choice));
  return type !== 'integer' || Number.isInteger(Number(choice));
}

/** What a row keeps beside its fields, in words. */
export function besides(row: Row): string[] {
  const said = [...Object.entries(row.rest), ...Object.entries(row.itemsRest)].map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return row.nullable ? ['null is allowed', ...said] : said;
}
