/** A form that is generated from a schema: the field for each schema, the typed input, and the resulting arguments. */
import { parseJson } from '../../../ui/json-text';
import { isObject, isText, isSameJson, type Json } from '../tools/json';

interface Common {
  name: string;
  label: string;
  hint: string;
  required: boolean;
  /** The default value. */
  preset?: unknown;
  limits: Limits;
}

/** Limits that the form checks before sending; the server checks the rest. */
export interface Limits {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

const LIMITS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const;

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

/** The typed input: strings for simple fields (also numbers while they are typed), trees for groups and lists. */
export type FormInput = string | FormInput[] | { [name: string]: FormInput } | undefined;

const DEEPEST = 6;
const MOST_ITEMS = 100;
export const mayAdd = (items: readonly FormInput[], { maxItems = MOST_ITEMS }: Limits) => items.length < Math.min(maxItems, MOST_ITEMS);

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
  const preset = own.default ?? schema?.default;
  const common: Common = {
    name: around.name,
    label: text('title') || around.name,
    hint: text('description'),
    required: around.required,
    limits: limitsOf(schema ?? {}),
    ...(preset !== undefined && { preset }),
  };
  if (schema === null || around.depth > DEEPEST) return { ...common, kind: 'json' };
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return { ...common, kind: 'choice', choices: schema.enum };
  if ('const' in schema) return { ...common, kind: 'choice', choices: [schema.const] };
  const next = { root: around.root, depth: around.depth + 1 };
  switch (typeOf(schema)) {
    case 'string':
      return {
        ...common,
        kind: 'text',
        input: inputOf(schema.format),
        long: typeof schema.maxLength === 'number' && schema.maxLength > 1_000,
      };
    case 'number':
    case 'integer':
      return { ...common, kind: 'number', whole: typeOf(schema) === 'integer' };
    case 'boolean':
      return { ...common, kind: 'boolean' };
    case 'array':
      return isObject(schema.items)
        ? { ...common, kind: 'list', item: fieldOf(schema.items, { ...next, name: 'item', required: true }) }
        : { ...common, kind: 'json' };
    case 'object': {
      const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
      if (properties.length === 0 && around.depth > 0) return { ...common, kind: 'json' };
      const required = Array.isArray(schema.required) ? schema.required : [];
      return {
        ...common,
        kind: 'group',
        fields: properties.map(([name, part]) => fieldOf(part, { ...next, name, required: required.includes(name) })),
      };
    }
    default:
      return { ...common, kind: 'json' };
  }
}

function limitsOf(schema: Json): Limits {
  return Object.fromEntries(LIMITS.flatMap((name) => (typeof schema[name] === 'number' ? [[name, schema[name]]] : [])));
}

/** The type, if there is exactly one besides `null`. */
function typeOf(schema: Json): unknown {
  if (['oneOf', 'anyOf', 'allOf', 'if', 'patternProperties'].some((keyword) => keyword in schema)) return undefined;
  if (!Array.isArray(schema.type)) return schema.type;
  const types = schema.type.filter((type) => type !== 'null');
  return types.length === 1 ? types[0] : undefined;
}

/** Resolves references inside the document; undefined if there is no target. */
function followed(schema: unknown, root: unknown): Json | null {
  let here = schema;
  for (let steps = 0; steps < 8; steps += 1) {
    if (!isObject(here)) return null;
    if (!isText(here.$ref)) return here;
    if (!here.$ref.startsWith('#/')) return null;
    const path = here.$ref
      .slice(2)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    here = path.reduce<unknown>((part, name) => (isObject(part) && Object.hasOwn(part, name) ? part[name] : undefined), root);
  }
  return null;
}

function inputOf(format: unknown): 'text' | 'date' | 'email' | 'url' {
  return format === 'date' ? 'date' : format === 'email' ? 'email' : format === 'uri' || format === 'url' ? 'url' : 'text';
}

/** Initial input of a form or a new list item: the defaults of its fields. */
export function emptyInput(field: Field): FormInput {
  if (field.preset !== undefined) {
    const typed = inputFromArguments(field, field.preset);
    if (typed !== null) return typed;
  }
  if (field.kind === 'list')
    return Array.from({ length: field.required ? Math.min(field.limits.minItems ?? 0, MOST_ITEMS) : 0 }, () => emptyInput(field.item));
  if (field.kind !== 'group') return undefined;
  // An optional group with defaults would always be sent.
  return Object.fromEntries(field.fields.filter((one) => one.required || one.kind !== 'group').map((one) => [one.name, emptyInput(one)]));
}

export interface FieldProblem {
  /** The path, as the server writes it: `items[0].count`. */
  path: string;
  message: string;
}

/** The value of the typed input; `undefined` if nothing was typed. */
export function collect(field: Field, typed: FormInput, path = '', wrong: FieldProblem[] = []): { value: unknown; wrong: FieldProblem[] } {
  const value = parseValue(field, typed, path, wrong);
  if (value === undefined && field.required && path !== '') wrong.push({ path, message: NEEDED });
  const beyond = value === undefined ? undefined : beyondLimits(value, field.limits);
  if (beyond !== undefined && wrong.every((one) => one.path !== path)) wrong.push({ path, message: beyond });
  return { value, wrong };
}

const NEEDED = 'This field is required.';

function beyondLimits(value: unknown, limits: Limits): string | undefined {
  if (typeof value === 'number') {
    if (limits.minimum !== undefined && value < limits.minimum) return `At least ${limits.minimum}.`;
    if (limits.maximum !== undefined && value > limits.maximum) return `At most ${limits.maximum}.`;
    if (limits.exclusiveMinimum !== undefined && value <= limits.exclusiveMinimum) return `More than ${limits.exclusiveMinimum}.`;
    if (limits.exclusiveMaximum !== undefined && value >= limits.exclusiveMaximum) return `Less than ${limits.exclusiveMaximum}.`;
  }
  if (typeof value === 'string') {
    const length = [...value].length;
    if (limits.minLength !== undefined && length < limits.minLength) return `At least ${limits.minLength} characters.`;
    if (limits.maxLength !== undefined && length > limits.maxLength) return `At most ${limits.maxLength} characters.`;
  }
  if (Array.isArray(value)) {
    if (limits.minItems !== undefined && value.length < limits.minItems)
      return `At least ${limits.minItems} ${limits.minItems === 1 ? 'item' : 'items'}.`;
    if (limits.maxItems !== undefined && value.length > limits.maxItems)
      return `At most ${limits.maxItems} ${limits.maxItems === 1 ? 'item' : 'items'}.`;
  }
  return undefined;
}

function parseValue(field: Field, typed: FormInput, path: string, wrong: FieldProblem[]): unknown {
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
    wrong.push({ path, message: field.whole ? 'Enter a whole number.' : 'Enter a number.' });
    return 0;
  }
  const parsed = parseJson(typed);
  if (parsed.ok) return parsed.value;
  wrong.push({ path, message: `Not JSON: line ${parsed.at.line}, ${parsed.message}.` });
  return null;
}

function groupValue(fields: readonly Field[], typed: FormInput, required: boolean, path: string, wrong: FieldProblem[]): Json | undefined {
  const members = typeof typed === 'object' && !Array.isArray(typed) ? typed : {};
  const inner: FieldProblem[] = [];
  const values = fields.flatMap((field): [string, unknown][] => {
    const { value } = collect(field, members[field.name], path === '' ? field.name : `${path}.${field.name}`, inner);
    return value === undefined ? [] : [[field.name, value]];
  });
  // An optional group is sent only if one of its fields is filled in.
  const hasValues = values.some(([, value]) => !(Array.isArray(value) && value.length === 0));
  if (!required && !hasValues && inner.every((one) => one.message === NEEDED)) return undefined;
  wrong.push(...inner);
  return Object.fromEntries(values);
}

/** The input that produces these arguments; `null` if the form cannot express them. */
export function inputFromArguments(field: Field, value: unknown): FormInput | null {
  const typed = typedOf(field, value);
  const back = collect(field, typed, '', []).value;
  return isSameJson(back, value) ? typed : null;
}

function typedOf(field: Field, value: unknown): FormInput {
  if (value === undefined) return undefined;
  if (field.kind === 'group')
    return isObject(value) ? Object.fromEntries(field.fields.map((one) => [one.name, typedOf(one, value[one.name])])) : undefined;
  if (field.kind === 'list') return Array.isArray(value) ? value.map((item) => typedOf(field.item, item)) : undefined;
  if (field.kind === 'choice') return String(field.choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value)));
  if (field.kind === 'json') return JSON.stringify(value, null, 2);
  return String(value);
}

/** Paths of the fields with input: `items[0].count`. */
export function pathsOf(field: Field, typed: FormInput, path = ''): string[] {
  const own = path === '' ? [] : [path];
  if (field.kind === 'group') {
    const members = typeof typed === 'object' && !Array.isArray(typed) ? typed : {};
    return [...own, ...field.fields.flatMap((one) => pathsOf(one, members[one.name], path === '' ? one.name : `${path}.${one.name}`))];
  }
  if (field.kind !== 'list') return own;
  return [...own, ...(Array.isArray(typed) ? typed : []).flatMap((item, place) => pathsOf(field.item, item, `${path}[${place}]`))];
}

/** The server's argument errors by field: `… do not fit: items[0].count: expected …; name: …`. */
export function serverProblems(message: string, paths: readonly string[]): FieldProblem[] {
  const known = new Set(paths);
  const found: { path: string; from: number; at: number }[] = [];
  for (const match of message.matchAll(/(?:^|: |; )([^\s:;]+): /g)) {
    const path = match[1] ?? '';
    if (known.has(path)) found.push({ path, at: match.index, from: match.index + match[0].length });
  }
  return found.map(({ path, from }, place) => ({ path, message: message.slice(from, found[place + 1]?.at).replace(/\.$/, '') }));
}
