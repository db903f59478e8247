#!/usr/bin/env bash
# Runs the tests, with nextest if it is installed, because it runs test binaries in parallel, else with cargo. The unit tests of the web
# client and the console run first, because they take seconds. They use the Node that `setup-tests.sh` has checked.
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
# The server on PostgreSQL: the tests that depend on what is stored. The others are the same on both.
if cargo nextest --version >/dev/null 2>&1; then
  TOOLYARD_TEST_STORE=postgres cargo nextest run --locked --workspace --no-fail-fast \
    -E 'package(toolyard-server) and binary(it) and test(/^(accounts|approvals|apps|audit|calls|changes|data_flow|definitions|devices|idempotency|identity|library|listing|lost_connections|me|oauth|oidc|pinned|plugins|quotas|stop|tokens|tool_sets|upstreams|usage|users|wake)::/) and not test(/not_stored|sealed_in_the_store|alias_another_one_had_first/)'
fi
scripts/postgres.sh stop
cargo test --locked --workspace --doc
# The console in a browser, against the built binaries.
with_newer_node npm test --silent --prefix tests/console
