#!/usr/bin/env bash
# Checks advisories, licenses, duplicate versions and sources of dependencies, and the checksums of npm packages. Installs cargo-deny if it
# is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/check-locks.sh
cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny@0.20.2
cargo deny --all-features check bans licenses sources

# The advisory database is on GitHub. If it cannot be fetched, the script warns and does not fail: everything else was checked.
if cargo deny --all-features fetch db; then
  cargo deny --all-features check --disable-fetch advisories
else
  echo "ADVISORIES WERE NOT CHECKED: the database https://github.com/RustSec/advisory-db could not be fetched." >&2
  echo "Run scripts/deny.sh again when that URL can be reached." >&2
fi
