// Takes the examples out of the guide, so that they are compiled with the tests.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const guide = readFileSync(new URL('../../../docs/web-client.md', import.meta.url), 'utf8');
const folder = new URL('./guide/', import.meta.url);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const examples = [...guide.matchAll(/^```(tsx?)\n(.*?)^```$/gms)];
if (examples.length === 0) throw new Error('the guide has no examples');
examples.forEach(([, kind, code], index) => writeFileSync(new URL(`example-${index + 1}.${kind}`, folder), code));
