#!/usr/bin/env bash
# Licences, duplicate versions and sources of dependencies. Installs cargo-deny where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny@0.20.2
cargo deny --all-features check bans licenses sources
