#!/usr/bin/env bash
# Installs what the tests need and cargo does not bring: the app on the real @mentra/sdk, and the MCP conformance suite.
set -euo pipefail
cd "$(dirname "$0")/.."

# The SDK's modules are not marked as such; these versions are the first that see it for themselves.
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 7) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null || {
  echo "The tests need Node 20.19, or 22.7 and newer, from https://nodejs.org; here: $(node --version 2>/dev/null || echo none)" >&2
  exit 1
}

for project in ${@:-tests/mentra-sdk tests/conformance}; do
  # npm writes this file last, so it is newer than the lock file only after an install of it that went through.
  installed=$project/node_modules/.package-lock.json
  if [ ! -e "$installed" ] || [ "$project/package-lock.json" -nt "$installed" ]; then
    npm ci --prefix "$project" --no-audit --no-fund --ignore-scripts --loglevel=error
  fi
done
