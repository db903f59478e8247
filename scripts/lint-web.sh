#!/usr/bin/env bash
# Checks the TypeScript and JavaScript: format and lint (Biome), types (tsc), exports and dependencies that nothing uses (knip).
# Arguments go to Biome: `scripts/lint-web.sh --write` fixes what can be fixed.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup-tests.sh web web/client web/console
web/node_modules/.bin/biome check --error-on-warnings "$@"
for project in web/client web/console; do
  (
    cd "$project"
    npm run --silent check
    ../node_modules/.bin/knip --no-progress
  )
done
