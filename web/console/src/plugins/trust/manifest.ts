/** Parses a manifest in either format and checks every rule, like `protocol::plugin`. Reports all problems at once. */
import { PluginManager } from '@toolyard/client';
import { decodeBase64 } from './key';
import { readPermissions, type Permissions } from './permissions';
import { ManifestProblem, formatProblem, type Problem } from './problem';
import { parseVersion } from './semver';
import { readStrict, type Json, type JsonObject } from './strict';
import { readTime } from './timestamp';

export const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_TOOLS = 64;
const MAX_CODE_BYTES = 256 * 1024;
const MAX_NAME_CHARS = 100;
const MAX_URL_BYTES = 2048;
const MAX_DESCRIPTION_BYTES = 8 * 1024;
const MAX_PROBLEMS = 100;
const MAX_SIGNATURE_BYTES = 1024;
const TYPE = 'toolyard/plugin';
const ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const HASH = /^[0-9a-f]{64}$/;
const KEY_ID = /^[0-9a-f]{16}$/;
/** Characters that change the text direction or break a line. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const BREAKS = /[\p{Cc}\u2028\u2029]/u;

interface PluginTool {
  name: string;
  description: string;
  parameters: JsonObject;
  executorCode: string;
}

type Signature =
  | { alg: 'Ed25519'; key: string; bytes: Uint8Array<ArrayBuffer> }
  | { alg: 'RS256'; key: string | null; contentHash: string | null; bytes: Uint8Array<ArrayBuffer> };

export interface Manifest {
  /** The text, unchanged. */
  raw: string;
  document: JsonObject;
  olderForm: boolean;
  id: string;
  name: string;
  version: string;
  publisher: string | null;
  description: string;
  homepage: string | null;
  permissions: Permissions;
  tools: PluginTool[];
  expiresAt: number | null;
  minHostVersion: string | null;
  signature: Signature | null;
}

export class ManifestError extends Error {
  override name = 'ManifestError';

  constructor(readonly problems: readonly Problem[]) {
    super(`This is not a valid plugin: ${problems.map(formatProblem).slice(0, 5).join('; ')}`);
  }
}

/** A manifest that follows all rules. Whether it is trusted is a separate question. */
export function readManifest(raw: string): Manifest {
  const size = new TextEncoder().encode(raw).length;
  if (size > MAX_MANIFEST_BYTES)
    throw new ManifestError([{ path: '', message: `${size} bytes; a manifest has at most ${MAX_MANIFEST_BYTES}` }]);
  let document: Json;
  try {
    document = readStrict(raw);
  } catch (error) {
    if (error instanceof ManifestProblem) throw new ManifestError([error]);
    throw error;
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw new ManifestError([{ path: '', message: 'expected an object' }]);
  }
  const reader = new Fields(document);
  const manifest = read(raw, document, reader);
  if (reader.problems.length > 0) throw new ManifestError(reader.problems.slice(0, MAX_PROBLEMS));
  return manifest;
}

class Fields {
  readonly problems: Problem[] = [];

  constructor(readonly members: JsonObject) {}

  wrong(path: string, message: string): void {
    this.problems.push({ path, message });
  }

  optional(name: string): string | null {
    const value = this.members[name] ?? null;
    if (value === null || typeof value === 'string') return value;
    this.wrong(name, 'expected a text');
    return null;
  }

  text(name: string): string {
    const value = this.members[name];
    if (value === undefined) this.wrong(name, `missing field \`${name}\``);
    else if (typeof value !== 'string') this.wrong(name, 'expected a text');
    return typeof value === 'string' ? value : '';
  }

  time(name: string): number | null {
    const text = this.optional(name);
    const time = text === null ? null : readTime(text);
    if (text !== null && time === null) this.wrong(name, 'expected a time such as 2026-01-01T00:00:00Z');
    return time;
  }
}

function read(raw: string, document: JsonObject, fields: Fields): Manifest {
  const wrong = fields.wrong.bind(fields);
  const type = fields.optional('type');
  if (type !== null && type !== TYPE) wrong('type', `this is a different kind of document; a manifest has \`${TYPE}\` or nothing`);
  const schemaVersion = document.schemaVersion ?? null;
  if (schemaVersion !== null && schemaVersion !== 1) wrong('schemaVersion', 'expected 1; is this console too old?');
  const [id, name, version, publisher] = [fields.text('id'), fields.text('name'), fields.text('version'), fields.optional('publisher')];
  if ('id' in document && !ID.test(id))
    wrong('id', `\`${id.slice(0, 80)}\` is not a plugin id: 1 to 64 of a-z, 0-9, \`.\`, \`_\`, \`-\`, beginning with a letter or digit`);
  if (schemaVersion !== null) {
    if (publisher === null) wrong('publisher', 'missing; name the publisher');
    if (parseVersion(version) === null) wrong('version', 'expected a semantic version such as 1.2.0');
  }
  const curatorId = fields.optional('curatorId');
  for (const [path, text] of Object.entries({ name, version, publisher, curatorId })) {
    if (text !== null && path in document && !isLine(text)) wrong(path, `expected one line of 1 to ${MAX_NAME_CHARS} visible characters`);
  }
  const description = 'description' in document ? fields.text('description') : '';
  if (bytes(description) > MAX_DESCRIPTION_BYTES) wrong('description', `longer than ${MAX_DESCRIPTION_BYTES} bytes`);
  const [homepage, sourceUrl] = [fields.optional('homepage'), fields.optional('sourceUrl')];
  if (homepage !== null && (!isUrl(homepage) || !homepage.startsWith('https://')))
    wrong('homepage', `expected a URL that begins with https://, at most ${MAX_URL_BYTES} bytes`);
  if (sourceUrl !== null && !isUrl(sourceUrl)) wrong('sourceUrl', `expected a URL of at most ${MAX_URL_BYTES} bytes`);
  const minHostVersion = fields.optional('minHostVersion');
  if (minHostVersion !== null && parseVersion(minHostVersion) === null)
    wrong('minHostVersion', 'expected a semantic version such as 1.2.0');
  fields.optional('installedAt');
  const [issuedAt, expiresAt] = [fields.time('issuedAt'), fields.time('expiresAt')];
  if (issuedAt !== null && expiresAt !== null && expiresAt <= issuedAt) wrong('expiresAt', 'not after issuedAt');
  const permissions = readPermissions(document.permissions, fields.problems);
  const tools = readTools(document.tools, wrong);
  const signature = readSignature(fields, curatorId);
  return {
    raw,
    document,
    olderForm: schemaVersion === null,
    id,
    name,
    version,
    publisher,
    description,
    homepage,
    permissions,
    tools,
    expiresAt,
    minHostVersion,
    signature,
  };
}

type Wrong = (path: string, message: string) => void;

function readTools(value: Json | undefined, wrong: Wrong): PluginTool[] {
  if (!Array.isArray(value)) {
    wrong('tools', 'expected a list of tools');
    return [];
  }
  if (value.length === 0 || value.length > MAX_TOOLS) {
    wrong('tools', `${value.length} tools; expected 1 to ${MAX_TOOLS}`);
    return [];
  }
  const names = new Set<string>();
  return value.flatMap((one, index) => {
    const path = `tools[${index}]`;
    const tool = readTool(one, path, wrong);
    if (tool !== null && names.has(tool.name)) wrong(`${path}.name`, 'an earlier tool has that name');
    if (tool !== null) names.add(tool.name);
    return tool === null ? [] : [tool];
  });
}

function readTool(value: Json, path: string, wrong: Wrong): PluginTool | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    wrong(path, 'expected an object');
    return null;
  }
  const { name, description = '', parameters, executorCode, annotations = null } = value;
  if (typeof name !== 'string' || typeof description !== 'string' || typeof executorCode !== 'string' || parameters === undefined) {
    wrong(path, 'expected `name`, `description` and `executorCode` as texts, and `parameters`');
    return null;
  }
  if (bytes(description) > MAX_DESCRIPTION_BYTES) wrong(`${path}.description`, `longer than ${MAX_DESCRIPTION_BYTES} bytes`);
  if (bytes(executorCode) > MAX_CODE_BYTES) wrong(`${path}.executorCode`, `longer than ${MAX_CODE_BYTES} bytes`);
  if (executorCode.trim() === '') wrong(`${path}.executorCode`, 'empty; expected the body of an async function over `args`');
  if (annotations !== null && (typeof annotations !== 'object' || Array.isArray(annotations)))
    wrong(`${path}.annotations`, 'expected an object');
  const tool = { name, description, parameters: parameters as JsonObject, executorCode };
  const problem = ruleOfChat(tool);
  if (problem !== null) wrong(path, problem);
  return tool;
}

/** The rules of client tools, because that is what they are in a chat. */
function ruleOfChat({ name, description, parameters }: PluginTool): string | null {
  try {
    new PluginManager().registerTool({ name, description, parameters, execute: () => null });
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.replace(/^clientTools\.[^:]*: /, '');
  }
}

function readSignature(fields: Fields, curatorId: string | null): Signature | null {
  const [text, alg, keyId, contentHash] = ['signature', 'alg', 'keyId', 'contentHash'].map((name) => fields.optional(name)) as (
    | string
    | null
  )[];
  if (contentHash != null && !HASH.test(contentHash))
    fields.wrong('contentHash', 'is not a content hash: expected 64 hex digits in lower case');
  if (text == null) {
    if (alg != null || keyId != null) fields.wrong('signature', 'missing although there is `alg` or `keyId`; sign again, or remove both');
    return null;
  }
  const decoded = decodeBase64(text);
  if (decoded === null || decoded.length > MAX_SIGNATURE_BYTES) {
    fields.wrong('signature', 'expected base64, with + and / and its padding');
    return null;
  }
  if (alg === 'Ed25519') {
    if (!KEY_ID.test(keyId ?? '')) fields.wrong('keyId', 'is not a key id: expected 16 hex digits in lower case');
    if (decoded.length !== 64) fields.wrong('signature', `${decoded.length} bytes; an Ed25519 signature has 64`);
    return { alg, key: keyId ?? '', bytes: decoded };
  }
  if (alg != null && alg !== 'RS256') fields.wrong('alg', `\`${alg.slice(0, 80)}\`: expected Ed25519 or RS256`);
  return { alg: 'RS256', key: keyId ?? curatorId, contentHash: contentHash ?? null, bytes: decoded };
}

const bytes = (text: string) => new TextEncoder().encode(text).length;
const isLine = (text: string) => text.trim() !== '' && [...text].length <= MAX_NAME_CHARS && !TURNS.test(text) && !BREAKS.test(text);
const isUrl = (text: string) => bytes(text) <= MAX_URL_BYTES && !/[\s\p{Cc}]/u.test(text);
