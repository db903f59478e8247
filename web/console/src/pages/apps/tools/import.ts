/**
 * Reads a file with tools in one of three formats: MCP definitions, the list of an older console, or a `tpa_config.json`. The same as
 * `toolyard migrate`. Older formats are converted to definitions here, because the server accepts only those.
 */
import type { Problem } from '../../../api/error';
import { parseJson } from '../../../ui/json-text';
import { isObject, isText, type Json } from './json';

export type FileFormat = 'definitions' | 'console' | 'tpa-config';

export interface ToolFile {
  form: FileFormat;
  tools: Json[];
  /** Members of the file that are not tools and are not imported. */
  leftOut: string[];
}

export const LARGEST_FILE = 8 * 1024 * 1024;
const MOST_TOOLS = 1_000;
const MOST_PROBLEMS = 100;

export const FORMAT_LABELS: Record<FileFormat, string> = {
  definitions: 'MCP tool definitions',
  console: 'a tool list of an older console',
  'tpa-config': 'a tpa_config.json',
};

/** The tools of the file, or all its problems. */
export function readToolFile(text: string): { file: ToolFile } | { problems: Problem[] } {
  const parsed = parseJson(text);
  if (!parsed.ok) return { problems: [{ message: `Not JSON: line ${parsed.at.line}, column ${parsed.at.column}: ${parsed.message}.` }] };
  const document = parsed.value;
  const list = isObject(document) ? document.tools : document;
  if (!Array.isArray(list)) return { problems: [{ path: 'tools', message: 'expected a list of tools, or an object with `tools`' }] };
  if (list.length > MOST_TOOLS) return { problems: [{ path: 'tools', message: `${list.length} tools; at most ${MOST_TOOLS}` }] };
  const leftOut = isObject(document) ? Object.keys(document).filter((name) => name !== 'tools') : [];
  // One schema is enough: then a tool without one is an invalid definition.
  const areDefinitions = list.some((tool) => isObject(tool) && 'inputSchema' in tool);
  const problems: Problem[] = [];
  const tools = areDefinitions ? definitions(list, problems) : older(list, problems);
  if (problems.length > 0) return { problems: problems.slice(0, MOST_PROBLEMS) };
  return { file: { form: areDefinitions ? 'definitions' : isObject(document) ? 'tpa-config' : 'console', tools, leftOut } };
}

function definitions(list: unknown[], problems: Problem[]): Json[] {
  return list.flatMap((tool, place) => {
    if (isObject(tool) && isText(tool.name)) return [tool];
    problems.push({ path: `tools[${place}]`, message: 'expected an object with a `name`' });
    return [];
  });
}

function older(list: unknown[], problems: Problem[]): Json[] {
  const first = new Map<string, number>();
  return list.flatMap((tool, place) => {
    const path = `tools[${place}]`;
    if (!isObject(tool)) {
      problems.push({ path, message: `expected an object, found ${what(tool)}` });
      return [];
    }
    const definition = olderTool(tool, path, problems);
    const id = String(definition.name);
    const earlier = first.get(id);
    if (earlier !== undefined) problems.push({ path: `${path}.id`, message: `\`${id}\` is already the id of tools[${earlier}]` });
    first.set(id, earlier ?? place);
    return [definition];
  });
}

function olderTool(tool: Json, path: string, problems: Problem[]): Json {
  const text = (name: string) => {
    const value = tool[name];
    if (isText(value) && value.trim() !== '') return value;
    problems.push({
      path: `${path}.${name}`,
      message: value === undefined || isText(value) ? 'missing; expected a text' : `expected a text, found ${what(value)}`,
    });
    return '';
  };
  const phrases = texts(tool.activationPhrases, `${path}.activationPhrases`, problems)
    .filter(isText)
    .map((phrase) => phrase.trim())
    .filter(Boolean);
  const properties: [string, Json][] = [];
  const required: string[] = [];
  const { parameters = {} } = tool;
  if (parameters !== null && !isObject(parameters))
    problems.push({ path: `${path}.parameters`, message: `expected an object of parameters by name, found ${what(parameters)}` });
  for (const [name, parameter] of Object.entries(isObject(parameters) ? parameters : {})) {
    // The database of older platforms adds `_id` to the parameters.
    if (name === '_id' && !(isObject(parameter) && 'type' in parameter)) continue;
    properties.push([name, olderParameter(parameter, `${path}.parameters.${name}`, problems)]);
    if (isObject(parameter) && parameter.required === true) required.push(name);
  }
  const inputSchema = { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
  return {
    name: text('id'),
    description: text('description'),
    inputSchema,
    ...(phrases.length > 0 && { mentraExtensions: { activationPhrases: phrases } }),
  };
}

function olderParameter(parameter: unknown, path: string, problems: Problem[]): Json {
  if (!isObject(parameter)) {
    problems.push({ path, message: `expected an object, found ${what(parameter)}` });
    return {};
  }
  const { type, description, required } = parameter;
  if (type !== 'string' && type !== 'number' && type !== 'boolean') {
    problems.push({
      path: `${path}.type`,
      message: `expected string, number or boolean, found ${isText(type) ? `\`${type}\`` : what(type)}`,
    });
  }
  if (description !== undefined && description !== null && !isText(description))
    problems.push({ path: `${path}.description`, message: `expected a text, found ${what(description)}` });
  if (required !== undefined && required !== null && typeof required !== 'boolean')
    problems.push({ path: `${path}.required`, message: `expected true or false, found ${what(required)}` });
  const choices = texts(parameter.enum, `${path}.enum`, problems).map((choice) => choiceOf(choice, type, `${path}.enum`, problems));
  return {
    type,
    ...(isText(description) && description !== '' && { description }),
    ...(choices.length > 0 && { enum: [...new Set(choices)] }),
  };
}

/** Entries of `enum` were strings, also for numbers. */
function choiceOf(choice: unknown, type: unknown, path: string, problems: Problem[]): unknown {
  const text = String(choice).trim();
  if (type === 'number' && text !== '' && Number.isFinite(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (type === 'string' && isText(choice)) return choice;
  problems.push({ path, message: `${JSON.stringify(choice)} is not a ${String(type)}` });
  return choice;
}

/** A list, or one comma-separated string, as older forms stored it. */
function texts(value: unknown, path: string, problems: Problem[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (isText(value))
    return value
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean);
  if (Array.isArray(value)) return value;
  problems.push({ path, message: `expected a list, found ${what(value)}` });
  return [];
}

function what(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return { string: 'a text', number: 'a number', boolean: 'true or false', object: 'an object' }[typeof value as string] ?? typeof value;
}
