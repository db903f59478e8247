/** A tool as the user sees it, from the server's data. All of it is third-party text. */
import { isObject, isText, type Json } from '../apps/tools/json';

export interface Tool {
  /** `package:tool` */
  name: string;
  package: string;
  local: string;
  title: string;
  description: string;
  /** The text that a search looks in. */
  words: string;
  definition?: Json;
  /** Why it is hidden. */
  hidden?: string;
  isOff: boolean;
}

export interface Parameter {
  name: string;
  type: string;
  required: boolean;
  description: string;
}

export function splitName(name: string): [string, string] {
  const colon = name.indexOf(':');
  return colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)];
}

export function toTool(definition: Json): Tool {
  const name = String(definition.name);
  const [of, local] = splitName(name);
  return {
    name,
    package: of,
    local,
    title: isText(definition.title) && definition.title !== '' ? definition.title : local,
    description: isText(definition.description) ? definition.description : '',
    words: searchText(name, isText(definition.title) ? definition.title : '', isText(definition.description) ? definition.description : ''),
    definition,
    isOff: false,
  };
}

/** Lowercased once, and not at each key press. */
export const searchText = (...texts: readonly string[]) => texts.join('\n').toLowerCase();

const WORDS: Record<string, string> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'yes or no',
  array: 'list',
  object: 'object',
  null: 'nothing',
};
const MOST_PARAMETERS = 64;

export function parametersOf(definition: Json | undefined): Parameter[] {
  const schema = isObject(definition?.inputSchema) ? definition.inputSchema : {};
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties)
    .slice(0, MOST_PARAMETERS)
    .map(([name, property]) => ({
      name,
      type: typeWords(property),
      required: required.includes(name),
      description: isObject(property) && isText(property.description) ? property.description : '',
    }));
}

function typeWords(property: unknown): string {
  if (!isObject(property)) return 'anything';
  if (Array.isArray(property.enum))
    return `one of ${property.enum
      .slice(0, 12)
      .map((one) => (isText(one) ? one : JSON.stringify(one)))
      .join(', ')}`;
  const types = (Array.isArray(property.type) ? property.type : [property.type]).filter((type) => type !== 'null');
  if (types.length !== 1 || !isText(types[0])) return 'anything';
  if (types[0] === 'array' && isObject(property.items) && isText(property.items.type))
    return `list of ${WORDS[property.items.type] ?? property.items.type}`;
  return WORDS[types[0]] ?? types[0];
}

/** The effects that the developer declared, as text. */
export function effects(definition: Json | undefined): string[] {
  const hints = isObject(definition?.annotations) ? definition.annotations : {};
  return [
    ...(hints.readOnlyHint === true ? ['read-only'] : []),
    ...(hints.destructiveHint === true ? ['destructive'] : []),
    ...(hints.idempotentHint === true ? ['safe to repeat'] : []),
  ];
}
