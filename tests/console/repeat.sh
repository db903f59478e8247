#!/usr/bin/env bash
# Runs the tests of the console in a browser again and again, on a machine that is busy with something else, and says which
# runs failed: `tests/console/repeat.sh 20`. STRESS=0 leaves the machine alone; STRESS=4 keeps four processes turning.
# It needs the binaries (`cargo build`), like the tests themselves. Logs, also of the server and the apps: /tmp/toolyard-console-runs, or LOGS.
set -uo pipefail
cd "$(dirname "$0")"
runs=${1:-20}
stress=${STRESS:-$(nproc)}
logs=${LOGS:-${TMPDIR:-/tmp}/toolyard-console-runs}
mkdir -p "$logs"
PATH="$PWD/../conformance/node_modules/.bin:$PATH"
if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)'; then
  echo "This needs Node 22; here: $(node --version). Run scripts/setup-tests.sh first." >&2
  exit 1
fi

busy=()
for ((one = 0; one < stress; one++)); do
  (while :; do :; done) &
  busy+=($!)
done
trap '[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null' EXIT

failed=0
for ((run = 1; run <= runs; run++)); do
  started=$SECONDS
  if STAGE_LOGS="$logs/$run" npm test --silent >"$logs/$run.log" 2>&1; then
    echo "run $run of $runs: passed in $((SECONDS - started)) s"
  else
    failed=$((failed + 1))
    echo "run $run of $runs: FAILED in $((SECONDS - started)) s, see $logs/$run.log"
    grep -E '^ *✖ ' "$logs/$run.log" | sort -u
  fi
done
echo "$failed of $runs runs failed"
[ "$failed" -eq 0 ]
