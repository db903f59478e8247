// Keys and signed plugins for tests, made with Node's own cryptography: a second opinion on what the server and the console do.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** RFC 8785, as far as tests need it: names sorted by UTF-16, numbers and texts as JavaScript writes them. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
    .join(',')}}`;
}

export function newKey() {
  const { privateKey } = generateKeyPairSync('ed25519');
  return keyOf(privateKey.export({ format: 'pem', type: 'pkcs8' }));
}

export function keyOf(pem) {
  const secret = createPrivateKey(pem);
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  return { pem, secret, spki: spki.toString('base64'), id: createHash('sha256').update(spki).digest('hex').slice(0, 16) };
}

/** The document with our signature beside it. */
export function signed(document, key) {
  const { alg: _, keyId: __, signature: ___, ...rest } = document;
  return { ...rest, alg: 'Ed25519', keyId: key.id, signature: sign(null, Buffer.from(canonical(rest)), key.secret).toString('base64') };
}

export function plugin(more = {}) {
  const tools = [
    {
      name: 'add',
      description: 'Adds two numbers',
      parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
      executorCode: 'return { sum: args.a + args.b };',
    },
  ];
  return {
    schemaVersion: 1,
    id: 'com.example.sums',
    name: 'Sums',
    version: '1.0.0',
    publisher: 'Example Ltd',
    description: 'Adds numbers.',
    tools,
    ...more,
  };
}

/** A plugin with one tool. */
export const withTool = (id, tool, executorCode, more = {}) =>
  plugin({
    id,
    name: id.split('.').at(-1),
    tools: [{ name: tool, description: 'For a test', parameters: { type: 'object' }, executorCode }],
    ...more,
  });

/** A configuration with a root and a curator of its own. */
export async function curated() {
  const dir = await mkdtemp(join(tmpdir(), 'toolyard-keys-'));
  const [root, curator] = [newKey(), newKey()];
  await writeFile(join(dir, 'root.key'), root.pem, { mode: 0o600 });
  await writeFile(join(dir, 'curator.key'), curator.pem, { mode: 0o600 });
  const config = `[plugins]\nenabled = true\ncurator_key_file = "${dir}/curator.key"\nroot_secret_file = "${dir}/root.key"\n`;
  return { dir, root, curator, config };
}
