#!/usr/bin/env bash
# Runs the tests: with nextest where it is there, because it runs test binaries side by side; else with cargo. First those of
# the client for web pages and of the console's parts, which take seconds, with the Node that `setup-tests.sh` has looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
with_newer_node() { PATH="$PWD/tests/conformance/node_modules/.bin:$PATH" "$@"; }
with_newer_node npm test --silent --prefix web/client
with_newer_node npm test --silent --prefix web/console
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --locked --workspace --no-fail-fast
else
  cargo test --locked --workspace --no-fail-fast --lib --bins --tests
fi
cargo test --locked --workspace --doc
# The console in a browser, against the binaries that were built.
with_newer_node npm test --silent --prefix tests/console
