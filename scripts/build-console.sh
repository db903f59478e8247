#!/usr/bin/env bash
# Builds the web console, which is embedded in the server. Run it before cargo; it builds only if something changed. With
# `--if-possible`, a machine without a supported Node gets a server without the console.
set -euo pipefail
cd "$(dirname "$0")/../web/console"

if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
  echo "The web console needs Node 20.19, or 22.12 or later, from https://nodejs.org. Found: $(node --version 2>/dev/null || echo none)" >&2
  if [ "${1:-}" = --if-possible ]; then
    echo "Continuing without the console." >&2
    exit 0
  fi
  exit 1
fi

# npm writes this file last, so it is newer than the lock file only after a successful install.
installed=node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
  npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
fi
# The build writes the page, so any source that is newer has changed since. The web client is part of the console.
page=dist/index.html
if [ ! -e "$page" ] || [ -n "$(find src public scripts ../client/src ../../contract/openapi.json index.html vite.config.ts package-lock.json -newer "$page" -print -quit)" ]; then
  echo "Building the web console ..."
  npm run --silent build
  touch "$page"
fi
