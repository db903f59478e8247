#!/usr/bin/env bash
# Installs what the tests need in addition to cargo: the app on the original @mentra/sdk, the MCP conformance suite, third-party MCP clients,
# MCP servers and chat clients, the build and test tools of the web client and the console, a browser, a speech synthesizer, PostgreSQL,
# NATS, and a small language model with its server.
set -euo pipefail
cd "$(dirname "$0")/.."

# The SDK's files are not marked as ES modules. These are the first Node versions that detect them.
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 7) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null || {
  echo "The tests need Node 20.19, or 22.7 or later, from https://nodejs.org. Found: $(node --version 2>/dev/null || echo none)" >&2
  exit 1
}

# Some clients need a newer Node. The conformance suite installs one if npm provides it for this machine.
newer_node() {
  local node=tests/conformance/node_modules/.bin/node
  [ -x "$node" ] || node=node
  "$node" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)' || {
    echo "The clients in $1 need Node 22.19 or later, from https://nodejs.org. Found: $("$node" --version)" >&2
    exit 1
  }
}

# Python clients, in a separate virtual environment.
python_clients() {
  local project=$1
  # Written last, so it is newer than the requirements only after a successful install.
  local installed=$project/.venv/installed
  [ ! -e "$installed" ] || [ "$project/requirements.txt" -nt "$installed" ] || return 0
  local fits='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'
  if ! python3 -c "$fits" 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # On Debian, `venv` is in a separate package.
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends python3 python3-venv >/dev/null || true
  fi
  python3 -c "$fits" 2>/dev/null || {
    echo "The tests need Python 3.11 or later with the module venv (on Debian: apt-get install python3-venv). Found: $(python3 --version 2>/dev/null || echo none)" >&2
    exit 1
  }
  rm -rf "$project/.venv"
  python3 -m venv "$project/.venv"
  "$project/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$project/requirements.txt"
  touch "$installed"
}

# A browser for the console and a speech synthesizer, from Debian packages.
if [ $# = 0 ] && { ! command -v chromium >/dev/null || ! command -v curl >/dev/null || ! command -v espeak-ng >/dev/null; }; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends chromium curl espeak-ng fonts-dejavu-core >/dev/null
  else
    echo "The tests need chromium, curl and espeak-ng (on Debian: apt-get install chromium curl espeak-ng)." >&2
    exit 1
  fi
fi

# The tests of the store start a PostgreSQL of their own.
[ $# -gt 0 ] || scripts/postgres.sh start >/dev/null

# The tests of a cluster start a NATS of their own.
[ $# -gt 0 ] || scripts/nats.sh fetch >/dev/null

# Some tests use a real model.
[ $# -gt 0 ] || scripts/demo-model.sh fetch

for project in ${@:-tests/mentra-sdk tests/conformance tests/mcp-clients tests/mcp-servers tests/chat-clients tests/console web web/client web/console}; do
  # npm writes this file last, so it is newer than the lock file only after a successful install.
  installed=$project/node_modules/.package-lock.json
  if [ ! -e "$installed" ] || [ "$project/package-lock.json" -nt "$installed" ]; then
    case $project in
      # The linters bring a binary for each system. A lock file that was written where the registry has only some of them is good
      # for `npm install`, which takes what it lists, but not for `npm ci`, which wants all.
      web) npm install --prefix "$project" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error ;;
      *) npm ci --prefix "$project" --no-audit --no-fund --ignore-scripts --loglevel=error ;;
    esac
  fi
  case $project in
    tests/mcp-clients)
      newer_node "$project"
      python_clients "$project"
      ;;
    tests/chat-clients)
      newer_node "$project"
      python_clients "$project"
      ;;
    tests/console | web/client) newer_node "$project" ;;
  esac
done
