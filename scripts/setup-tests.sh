#!/usr/bin/env bash
# Installs what the tests need and cargo does not bring: the app on the real @mentra/sdk.
set -euo pipefail
cd "$(dirname "$0")/.."

app=tests/mentra-sdk
# The SDK's modules are not marked as such; these versions are the first that see it for themselves.
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 7) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null || {
  echo "The tests need Node 20.19, or 22.7 and newer, from https://nodejs.org; here: $(node --version 2>/dev/null || echo none)" >&2
  exit 1
}

# npm writes this file last, so it is newer than the lock file only after an install of it that went through.
installed=$app/node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ "$app/package-lock.json" -nt "$installed" ]; then
  npm ci --prefix "$app" --no-audit --no-fund --ignore-scripts
fi
