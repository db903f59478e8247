#!/usr/bin/env bash
# Runs the tests: with nextest where it is there, because it runs test binaries side by side; else with cargo.
set -euo pipefail
cd "$(dirname "$0")/.."
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --locked --workspace --no-fail-fast
else
  cargo test --locked --workspace --no-fail-fast --lib --bins --tests
fi
cargo test --locked --workspace --doc
