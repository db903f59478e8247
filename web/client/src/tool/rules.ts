/** The server's rules for client tools, checked here so that mistakes show up at registration. */

import { byteLength, truncateText, isObject } from '../json.js';
import type { ClientToolDefinition, JsonSchema } from './definition.js';

/** Longest name. */
const MAX_NAME = 64;
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
/** Allowed types in a schema. */
const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const LISTS = ['oneOf', 'anyOf', 'allOf', 'prefixItems'];
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];

/** Limits for client tools. A server can configure others in `[chat]`. */
export interface ClientToolLimits {
  /** Number of tools in one request. */
  tools: number;
  /** Size of all definitions together, in bytes of JSON. */
  bytes: number;
  /** Nesting depth of schemas. */
  depth: number;
  /** Number of properties of one object. */
  properties: number;
}

/** The default limits of a server. */
export const CLIENT_TOOL_LIMITS: Readonly<ClientToolLimits> = {
  tools: 64,
  bytes: 256 * 1024,
  depth: 8,
  properties: 64,
};

/** A copy of a definition, with known members only. Throws if it is not a definition. */
export function readDefinition(from: ClientToolDefinition): ClientToolDefinition {
  const given: unknown = from;
  if (!isObject(given)) throw new TypeError('clientTools: expected an object with `name`, `description` and `parameters`');
  const { name, description = '', parameters = { type: 'object' } } = given;
  if (typeof name !== 'string') throw new TypeError('clientTools: a tool has no name');
  if (typeof description !== 'string') throw new TypeError(`${placeOf(name)}: description: expected a text`);
  if (!isObject(parameters)) throw new TypeError(`${placeOf(name)}: parameters: expected a schema`);
  try {
    return { name, description, parameters: JSON.parse(JSON.stringify(parameters)) as JsonSchema };
  } catch {
    throw new TypeError(`${placeOf(name)}: parameters: not JSON`);
  }
}

/** Checks the tools of a request against the rules. Throws an error with the location and the reason. */
export function checkTools(tools: readonly ClientToolDefinition[], limits: ClientToolLimits): void {
  if (tools.length > limits.tools) throw new RangeError(`clientTools: ${tools.length} tools; at most ${limits.tools}`);
  const sizes = tools.map((tool) => byteLength(JSON.stringify(tool.parameters)) + byteLength(tool.description));
  const size = sizes.reduce((sum, one) => sum + one, 0);
  if (size > limits.bytes) {
    throw new RangeError(`clientTools: their definitions have ${size} bytes; at most ${limits.bytes}`);
  }
  const names = new Set<string>();
  for (const { name, parameters } of tools) {
    const place = placeOf(name);
    if (!NAME.test(name)) {
      throw new TypeError(`${place}: the name must begin with a letter and have letters, digits and _ only, at most ${MAX_NAME}`);
    }
    if (names.has(name)) throw new TypeError(`${place}: there are two of that name`);
    names.add(name);
    if (parameters['type'] !== 'object') throw new TypeError(`${place}: parameters.type: expected \`object\``);
    checkSchema(parameters, `${place}: parameters`, limits.depth, limits);
  }
}

function placeOf(name: string): string {
  return `clientTools.${truncateText(name, MAX_NAME)}`;
}

/** Walks a schema. `enum`, `const`, `default` and `examples` contain data, not schemas. */
function checkSchema(schema: unknown, path: string, depth: number, limits: ClientToolLimits): void {
  if (typeof schema === 'boolean') return;
  if (!isObject(schema)) throw new TypeError(`${path}: expected a schema`);
  if (depth === 0) throw new RangeError(`${path}: deeper than ${limits.depth} schemas`);
  for (const [keyword, inside] of Object.entries(schema)) {
    const at = `${path}.${keyword}`;
    const deeper = (one: unknown, where: string) => checkSchema(one, where, depth - 1, limits);
    if (REFERENCES.includes(keyword)) throw new TypeError(`${at}: references are not supported; inline the schema`);
    if (keyword === 'type') checkType(inside, at);
    else if (MAPS.includes(keyword)) checkMembers(inside, at, limits, deeper);
    else if (LISTS.includes(keyword)) {
      if (!Array.isArray(inside)) throw new TypeError(`${at}: expected a list`);
      inside.forEach((one, index) => deeper(one, `${at}[${index}]`));
    } else if (SCHEMAS.includes(keyword)) deeper(inside, at);
  }
}

function checkMembers(members: unknown, at: string, limits: ClientToolLimits, deeper: (one: unknown, where: string) => void): void {
  if (!isObject(members)) throw new TypeError(`${at}: expected an object`);
  const named = Object.entries(members);
  if (named.length > limits.properties) {
    throw new RangeError(`${at}: ${named.length} members; at most ${limits.properties}`);
  }
  for (const [name, member] of named) deeper(member, `${at}.${truncateText(name, MAX_NAME)}`);
}

function checkType(type: unknown, at: string): void {
  const known = (one: unknown) => typeof one === 'string' && TYPES.includes(one);
  const fits = Array.isArray(type) ? type.length > 0 && type.every(known) : known(type);
  if (!fits) throw new TypeError(`${at}: expected one of ${TYPES.join(', ')}`);
}
