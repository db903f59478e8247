/** A form made from a schema: which field a schema is, what is typed into it, and which arguments come of that. */
import { parseJson } from '../../../ui/json-text';
import { isObject, isText, same, type Json } from '../tools/json';

interface Common {
  name: string;
  label: string;
  hint: string;
  required: boolean;
}

export type Field = Common &
  (
    | { kind: 'text'; input: 'text' | 'date' | 'datetime-local' | 'email' | 'url'; long: boolean }
    | { kind: 'number'; whole: boolean }
    | { kind: 'boolean' }
    | { kind: 'choice'; choices: unknown[] }
    | { kind: 'group'; fields: Field[] }
    | { kind: 'list'; item: Field }
    /** What no field is for is written as JSON. */
    | { kind: 'json' }
  );

/** What is typed: texts for simple fields (also numbers while they are typed), trees for groups and lists. */
export type Typed = string | Typed[] | { [name: string]: Typed } | undefined;

const DEEPEST = 6;
const MOST_ITEMS = 100;
export const mayAdd = (items: readonly Typed[]) => items.length < MOST_ITEMS;

export function fieldsOf(schema: unknown): Field {
  return fieldOf(schema, { name: '', required: true, root: schema, depth: 0 });
}

interface Around {
  name: string;
  required: boolean;
  root: unknown;
  depth: number;
}

function fieldOf(given: unknown, around: Around): Field {
  const schema = followed(given, around.root);
  const own = isObject(given) ? given : {};
  const text = (name: string) => (isText(own[name]) ? own[name] : isText(schema?.[name]) ? schema[name] : '');
  const common: Common = { name: around.name, label: text('title') || around.name, hint: text('description'), required: around.required };
  if (schema === null || around.depth > DEEPEST) return { ...common, kind: 'json' };
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return { ...common, kind: 'choice', choices: schema.enum };
  if ('const' in schema) return { ...common, kind: 'choice', choices: [schema.const] };
  const next = { root: around.root, depth: around.depth + 1 };
  switch (typeOf(schema)) {
    case 'string':
      return { ...common, kind: 'text', input: inputOf(schema.format), long: typeof schema.maxLength === 'number' && schema.maxLength > 1_000 };
    case 'number':
    case 'integer':
      return { ...common, kind: 'number', whole: typeOf(schema) === 'integer' };
    case 'boolean':
      return { ...common, kind: 'boolean' };
    case 'array':
      return isObject(schema.items) ? { ...common, kind: 'list', item: fieldOf(schema.items, { ...next, name: 'item', required: true }) } : { ...common, kind: 'json' };
    case 'object': {
      const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
      if (properties.length === 0 && around.depth > 0) return { ...common, kind: 'json' };
      const required = Array.isArray(schema.required) ? schema.required : [];
      return { ...common, kind: 'group', fields: properties.map(([name, part]) => fieldOf(part, { ...next, name, required: required.includes(name) })) };
    }
    default:
      return { ...common, kind: 'json' };
  }
}

/** The one type, where there is one beside `null`. */
function typeOf(schema: Json): unknown {
  if (['oneOf', 'anyOf', 'allOf', 'if', 'patternProperties'].some((keyword) => keyword in schema)) return undefined;
  if (!Array.isArray(schema.type)) return schema.type;
  const types = schema.type.filter((type) => type !== 'null');
  return types.length === 1 ? types[0] : undefined;
}

/** The schema behind references inside the document; nothing where there is none. */
function followed(schema: unknown, root: unknown): Json | null {
  let here = schema;
  for (let steps = 0; steps < 8; steps += 1) {
    if (!isObject(here)) return null;
    if (!isText(here.$ref)) return here;
    if (!here.$ref.startsWith('#/')) return null;
    const path = here.$ref.slice(2).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    here = path.reduce<unknown>((part, name) => (isObject(part) && Object.hasOwn(part, name) ? part[name] : undefined), root);
  }
  return null;
}

function inputOf(format: unknown): 'text' | 'date' | 'email' | 'url' {
  return format === 'date' ? 'date' : format === 'email' ? 'email' : format === 'uri' || format === 'url' ? 'url' : 'text';
}

/** What a new item of a list, or an empty form, begins with. */
export function blank(field: Field): Typed {
  if (field.kind === 'group') return {};
  if (field.kind === 'list') return [];
  return undefined;
}

export interface Wrong {
  /** As the server names places: `items[0].count`. */
  path: string;
  message: string;
}

/** The value of what was typed; `undefined` where nothing was. */
export function collect(field: Field, typed: Typed, path = '', wrong: Wrong[] = []): { value: unknown; wrong: Wrong[] } {
  const value = valueOf(field, typed, path, wrong);
  if (value === undefined && field.required && path !== '') wrong.push({ path, message: 'This is needed.' });
  return { value, wrong };
}

function valueOf(field: Field, typed: Typed, path: string, wrong: Wrong[]): unknown {
  if (field.kind === 'group') return groupValue(field.fields, typed, field.required, path, wrong);
  if (field.kind === 'list') {
    const items = Array.isArray(typed) ? typed : [];
    if (items.length === 0 && !field.required) return undefined;
    return items.map((item, place) => collect(field.item, item, `${path}[${place}]`, wrong).value);
  }
  if (typeof typed !== 'string' || typed === '') return undefined;
  if (field.kind === 'text') return typed;
  if (field.kind === 'boolean') return typed === 'true';
  if (field.kind === 'choice') return field.choices[Number(typed)];
  if (field.kind === 'number') {
    const number = Number(typed.trim());
    if (typed.trim() !== '' && Number.isFinite(number) && (!field.whole || Number.isInteger(number))) return number;
    wrong.push({ path, message: field.whole ? 'A whole number is needed.' : 'A number is needed.' });
    return 0;
  }
  const parsed = parseJson(typed);
  if (parsed.ok) return parsed.value;
  wrong.push({ path, message: `Not JSON: line ${parsed.at.line}, ${parsed.message}.` });
  return null;
}

function groupValue(fields: readonly Field[], typed: Typed, required: boolean, path: string, wrong: Wrong[]): Json | undefined {
  const members = typeof typed === 'object' && !Array.isArray(typed) ? typed : {};
  const inner: Wrong[] = [];
  const values = fields.flatMap((field): [string, unknown][] => {
    const { value } = collect(field, members[field.name], path === '' ? field.name : `${path}.${field.name}`, inner);
    return value === undefined ? [] : [[field.name, value]];
  });
  // A group that need not be there is there only when something in it was filled in.
  const hasValues = values.some(([, value]) => !(Array.isArray(value) && value.length === 0));
  if (!required && !hasValues && inner.every((one) => one.message === 'This is needed.')) return undefined;
  wrong.push(...inner);
  return Object.fromEntries(values);
}

/** What must be typed so that these arguments come of it; `null` where the form cannot say them. */
export function typedFrom(field: Field, value: unknown): Typed | null {
  const typed = typedOf(field, value);
  const back = collect(field, typed, '', []).value;
  return same(back, value) ? typed : null;
}

function typedOf(field: Field, value: unknown): Typed {
  if (value === undefined) return undefined;
  if (field.kind === 'group') return isObject(value) ? Object.fromEntries(field.fields.map((one) => [one.name, typedOf(one, value[one.name])])) : undefined;
  if (field.kind === 'list') return Array.isArray(value) ? value.map((item) => typedOf(field.item, item)) : undefined;
  if (field.kind === 'choice') return String(field.choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value)));
  if (field.kind === 'json') return JSON.stringify(value, null, 2);
  return String(value);
}
