#!/usr/bin/env bash
# Builds the binaries as they are shipped and measures the way through the server against a direct call. Arguments go to the bench:
# `scripts/bench.sh --rounds 3 --sockets 20000`, `scripts/bench.sh --only chat --only shortlist`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --profile dist --locked -p toolyard-cli -p toolyard-assistant -p toolyard-bench
if ! command -v nginx >/dev/null && [ ! -x /usr/sbin/nginx ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing nginx, the floor for any proxy ..."
  # The package starts a server of its own, which is not wanted here.
  (apt-get update -qq && RUNLEVEL=1 apt-get install -qq -y nginx-light >/dev/null) || echo "nginx could not be installed; its column will be missing"
fi
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
exec target/dist/toolyard-bench "$@"
