#!/usr/bin/env bash
# A PostgreSQL server for tests, in a folder of its own, reachable only through a Unix socket.
#   scripts/postgres.sh start   installs it if needed (as root on Debian), starts it, and prints its URL
#   scripts/postgres.sh stop    stops it and removes its data
#   scripts/postgres.sh create  starts it if needed, creates an empty database, and prints the URL of that
#   scripts/postgres.sh create-for PID   the same, for a process: the database is dropped when that ends
#   scripts/postgres.sh drop URL
#   scripts/postgres.sh halt    stops it and keeps its data for the next start, if that says TOOLYARD_TEST_POSTGRES_KEEP=1
# Nothing in it is worth keeping, so it does not wait for the disk.
set -euo pipefail

folder=${TOOLYARD_TEST_POSTGRES_FOLDER:-/tmp/toolyard-postgres-$(id -u)}
data=$folder/data

# PostgreSQL refuses to run as root.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    runuser -u postgres -- "$@"
  else
    "$@"
  fi
}

find_binaries() {
  local found
  found=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1) || true
  if [ -z "$found" ] && command -v initdb >/dev/null; then
    found=$(dirname "$(readlink -f "$(command -v initdb)")")
  fi
  echo "$found"
}

install_binaries() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    # Debian would start a server of its own.
    mkdir -p /etc/postgresql-common
    grep -qs '^create_main_cluster' /etc/postgresql-common/createcluster.conf ||
      echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf
    apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends postgresql >/dev/null
  else
    echo "The tests need PostgreSQL 15 or later (on Debian: apt-get install postgresql)." >&2
    exit 1
  fi
}

start() {
  local binaries
  binaries=$(find_binaries)
  if [ -z "$binaries" ]; then
    install_binaries >&2
    binaries=$(find_binaries)
  fi
  mkdir -p "$folder"
  [ "$(id -u)" != 0 ] || chown postgres "$folder"
  # Many tests may ask at once; one of them starts it.
  exec 9>"$folder/lock"
  flock 9
  if ! as_owner "$binaries/pg_ctl" -D "$data" status >/dev/null 2>&1; then
    if [ "${TOOLYARD_TEST_POSTGRES_KEEP:-}" != 1 ] || [ ! -e "$data/PG_VERSION" ]; then
      rm -rf "$data"
      # A collation that sorts differently from the bytes, as many servers have it.
      as_owner "$binaries/initdb" -D "$data" -U toolyard -A trust -E UTF8 --locale C.UTF-8 --locale-provider icu --icu-locale en-US \
        --no-sync >/dev/null
    fi
    # The server must not hold the lock.
    as_owner "$binaries/pg_ctl" -D "$data" -w -l "$folder/server.log" start >/dev/null 9>&- -o "-c listen_addresses='' \
      -c unix_socket_directories='$folder' -c max_connections=400 -c fsync=off -c synchronous_commit=off \
      -c full_page_writes=off -c max_wal_size=256MB -c wal_level=minimal -c max_wal_senders=0 -c log_min_messages=warning"
  fi
  echo "postgres://toolyard@localhost/postgres?host=$folder"
}

create() {
  local server name
  server=$(start)
  name=test_$(od -An -N8 -tx1 /dev/urandom | tr -d ' ')
  psql --quiet --no-psqlrc "$server" --command "CREATE DATABASE $name"
  echo "postgres://toolyard@localhost/$name?host=$folder"
}

create_for() {
  local url
  url=$(create)
  # A process of its own, which nobody waits for.
  setsid "$0" drop-after "$1" "$url" </dev/null >/dev/null 2>&1 &
  echo "$url"
}

drop_after() {
  while kill -0 "$1" 2>/dev/null; do sleep 0.5; done
  drop "$2"
}

drop() {
  local name=${1#postgres://toolyard@localhost/}
  psql --quiet --no-psqlrc "postgres://toolyard@localhost/postgres?host=$folder" \
    --command "DROP DATABASE ${name%%\?*} WITH (FORCE)"
}

halt() {
  as_owner "$(find_binaries)/pg_ctl" -D "$data" -w -m fast stop >/dev/null
}

stop() {
  as_owner "$(find_binaries)/pg_ctl" -D "$data" -w -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$data"
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  halt) halt ;;
  create) create ;;
  create-for) create_for "$2" ;;
  drop-after) drop_after "$2" "$3" ;;
  drop) drop "$2" ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
