#!/usr/bin/env bash
# Runs the official MCP conformance suite against a server: scripts/conformance.sh URL [REVISION...]
# Fails if a required scenario fails that tests/conformance/expected-failures does not list.
set -euo pipefail
cd "$(dirname "$0")/.."
url=${1:?"the URL is missing. Usage: scripts/conformance.sh URL [REVISION...]"}
shift
[ $# -gt 0 ] || set -- 2025-11-25 2026-07-28

scripts/setup-tests.sh tests/conformance
cd tests/conformance
# The suite needs Node 22. The project installs one if npm provides it for this machine.
node=node_modules/.bin/node
[ -x "$node" ] || node=node
exec "$node" run.mjs "$url" "$@"
