#!/usr/bin/env bash
# Checks the queries of the PostgreSQL store against a real database with the current tables, and writes what the compiler needs to
# check them without one: crates/store/.sqlx. Run it after a change of a query or a migration, and commit the result.
#   scripts/check-queries.sh            updates crates/store/.sqlx
#   scripts/check-queries.sh --check    fails if it is not up to date
set -euo pipefail
cd "$(dirname "$0")/.."

server=$(scripts/postgres.sh start)
name=check_queries_$$
database=${server/\/postgres\?/\/$name\?}
run_sql() { psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 "$@"; }
run_sql "$server" --command "CREATE DATABASE $name"
found=$(mktemp -d)
trap 'rm -rf "$found"; run_sql "$server" --command "DROP DATABASE $name WITH (FORCE)"' EXIT
for migration in crates/store/migrations/postgres/*.sql; do
  run_sql "$database" --file "$migration"
done

# The compiler runs the checks, so it has to compile the crate.
touch crates/store/src/lib.rs
SQLX_OFFLINE=false DATABASE_URL=$database SQLX_OFFLINE_DIR=$found cargo check --quiet -p toolyard-store
touch crates/store/src/lib.rs

if [ "${1:-}" = --check ]; then
  diff --recursive --brief "$found" crates/store/.sqlx || {
    echo "crates/store/.sqlx is not up to date: run scripts/check-queries.sh" >&2
    exit 1
  }
else
  rm -rf crates/store/.sqlx
  cp -r "$found" crates/store/.sqlx
fi
