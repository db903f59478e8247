#!/usr/bin/env bash
# Checks TypeScript and JavaScript: format and lint (Biome), types (tsc), unused exports and dependencies (knip).
# Arguments are passed to Biome: `scripts/lint-web.sh --write` applies automatic fixes.
set -euo pipefail
cd "$(dirname "$0")/.."
# The first of them brings the Node that the others need.
scripts/setup-tests.sh tests/conformance web web/client web/console
web/node_modules/.bin/biome check --error-on-warnings "$@"
for project in web/client web/console; do
  (
    cd "$project"
    npm run --silent check
    ../node_modules/.bin/knip --no-progress
  )
done
