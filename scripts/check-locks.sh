#!/usr/bin/env bash
# Checks that every package in every package-lock.json has a checksum, so that npm installs exactly the locked packages. A package that is
# bundled in the archive of another one is covered by the checksum of that archive.
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
      console.error(`${file}: ${path} has no integrity; add the output of \`npm view ${name}@${entry.version} dist.integrity\``);
    }
  }
  if (files.length === 0) { console.error("no package-lock.json found: run this in a git checkout"); missing = 1; }
  process.exit(missing === 0 ? 0 : 1);
'
