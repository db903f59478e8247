#!/usr/bin/env bash
# Known weaknesses, licences, duplicate versions and sources of dependencies, and the checksums of npm packages. Installs
# cargo-deny where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/check-locks.sh
cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny@0.20.2
cargo deny --all-features check bans licenses sources

# The database of weaknesses lies on GitHub. Without it nothing can be said about them, which is no reason to fail: the rest
# was checked, and the next run with a network says it.
if cargo deny --all-features fetch db; then
  cargo deny --all-features check --disable-fetch advisories
else
  echo "ADVISORIES WERE NOT CHECKED: the database https://github.com/RustSec/advisory-db could not be fetched." >&2
  echo "Run scripts/deny.sh again where that address can be reached." >&2
fi
