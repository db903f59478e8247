#!/usr/bin/env bash
# Every package of every package-lock.json has a checksum, so that npm installs what was locked and nothing else. A package
# that comes inside another one's archive is covered by that one's checksum.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*package-lock.json' | node -e '
  const { readFileSync } = require("node:fs");
  const files = readFileSync(0, "utf8").split("\n").filter(Boolean);
  let missing = 0;
  for (const file of files) {
    const { packages } = JSON.parse(readFileSync(file, "utf8"));
    for (const [path, entry] of Object.entries(packages)) {
      if (path === "" || entry.link || entry.inBundle || /^sha512-/.test(entry.integrity ?? "")) continue;
      missing += 1;
      const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
      console.error(`${file}: ${path} has no integrity; add what \`npm view ${name}@${entry.version} dist.integrity\` prints`);
    }
  }
  if (files.length === 0) { console.error("no package-lock.json found: run this in a checkout with git"); missing = 1; }
  process.exit(missing === 0 ? 0 : 1);
'
