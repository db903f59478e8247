#!/usr/bin/env bash
# The long version of tests/cluster: every fault 50 times, with 500 calls per second and nodes that sleep for 30 seconds. Takes more
# than an hour. Uses binaries with optimisation.
set -euo pipefail
cd "$(dirname "$0")/.."
export TOOLYARD_CLUSTER_STRICT=1 TOOLYARD_CLUSTER_ROUNDS=${1:-50} TOOLYARD_CLUSTER_RATE=${2:-500} TOOLYARD_CLUSTER_SUSPEND_S=${3:-30}
cargo test --profile quick --locked -p toolyard-cli --test cluster -- --nocapture
