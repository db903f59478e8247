import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

// Styles of a page stay loaded when another page is opened: each page has one class around everything, and styles nothing else.
const pages = new URL('../src/pages/', import.meta.url);

test('the styles of each page are scoped to its class', () => {
  const roots = new Map<string, string>();
  for (const page of readdirSync(pages)) {
    const text = readFileSync(new URL(`${page}/style.css`, pages), 'utf8');
    const outer = text.split('\n').filter((line) => /^\S.*\{$/.test(line));
    const [root = ''] = outer;
    assert.match(root, /^\.[\w-]+ \{$/, page);
    for (const line of outer) assert.ok(line === root || line.startsWith(`@keyframes ${page}-`), `${page}: ${line} is outside of ${root}`);
    assert.ok(!text.replace(/\/\*.*?\*\//gs, '').includes('\n@media'), `${page}: a query outside of its class`);
    assert.ok(!roots.has(root), `${page} and ${roots.get(root)} share ${root}`);
    roots.set(root, page);
  }
});
