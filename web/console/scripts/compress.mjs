// Adds a brotli copy of each build file that becomes smaller: compressed once here, not at each request.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url).pathname;
const texts = new Set(['.js', '.css', '.html', '.svg', '.json', '.map']);

for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !texts.has(extname(entry.name))) continue;
  const path = join(entry.parentPath, entry.name);
  const plain = await readFile(path);
  const small = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } });
  if (small.length < plain.length) await writeFile(`${path}.br`, small);
}
