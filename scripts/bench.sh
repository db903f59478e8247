#!/usr/bin/env bash
# Builds the binaries with the dist profile and compares calls through the server with direct calls. Arguments are passed to the benchmark:
# `scripts/bench.sh --rounds 3 --sockets 20000`, `scripts/bench.sh --only chat --only shortlist`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --profile dist --locked -p toolyard-cli -p toolyard-assistant -p toolyard-bench
if ! command -v nginx >/dev/null && [ ! -x /usr/sbin/nginx ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing nginx, as the baseline of a plain proxy ..."
  # RUNLEVEL=1 prevents the package from starting a server.
  (apt-get update -qq && RUNLEVEL=1 apt-get install -qq -y nginx-light >/dev/null) || echo "nginx could not be installed; the results will have no nginx column"
fi
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
exec target/dist/toolyard-bench "$@"
