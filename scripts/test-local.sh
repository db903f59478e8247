#!/usr/bin/env bash
# Tests in-process models (cargo feature `local`) with the demonstration model: clippy, tests, and an evaluation of its tool calls, in this
# process and in llama.cpp's server. Building llama.cpp needs cmake and libclang and takes ten minutes on one core.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cmake >/dev/null || ! command -v clang >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends cmake clang libclang-dev >/dev/null
  else
    echo "Building llama.cpp needs cmake and clang (on Debian: apt-get install cmake clang libclang-dev)." >&2
    exit 1
  fi
fi
scripts/demo-model.sh fetch

# Always select the same packages: any other selection rebuilds llama.cpp.
local=(--locked -p toolyard-agent -p toolyard-cli -p toolyard-evals --features toolyard-agent/local,toolyard-cli/local,toolyard-evals/local)
cargo clippy "${local[@]}" --all-targets -- -D warnings
cargo test "${local[@]}" --test local
cargo test "${local[@]}" --test cli local_model
cargo test "${local[@]}" --test demo_model -- --ignored --nocapture
