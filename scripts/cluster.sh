#!/usr/bin/env bash
# Starts a cluster on this machine: three nodes with PostgreSQL and NATS behind nginx, and the to-do app, installed for a sample user.
# Ctrl-C stops it. Its data is in data/cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
# Keys and logs must not be readable by other users of this machine.
umask 077

port=${TOOLYARD_PORT:-8780}
todo_port=${TOOLYARD_TODO_PORT:-7012}
nats_port=${TOOLYARD_NATS_PORT:-4222}
nodes=(8781 8782 8783)
url=http://127.0.0.1:$port
user=ada@example.com
package=com.example.todo
bin=${TOOLYARD_BIN:-target/quick}
data=$PWD/data/cluster
mkdir -p "$data"

for used in "$port" "$todo_port" "$nats_port" "${nodes[@]}"; do
  if (exec 3<>"/dev/tcp/127.0.0.1/$used") 2>/dev/null; then
    echo "Port $used is in use. Stop the program that uses it, or choose other ports: TOOLYARD_PORT, TOOLYARD_TODO_PORT, TOOLYARD_NATS_PORT." >&2
    exit 1
  fi
done

if ! command -v nginx >/dev/null || ! command -v curl >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "This needs nginx and curl (on Debian: apt-get install nginx-light curl)." >&2
    exit 1
  fi
  echo "Installing nginx and curl ..."
  export DEBIAN_FRONTEND=noninteractive
  # Debian would start a server of its own.
  [ -e /usr/sbin/policy-rc.d ] || { printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d && remove_policy=1; }
  apt-get update -qq >/dev/null && apt-get install -qq -y --no-install-recommends nginx-light curl >/dev/null
  [ -z "${remove_policy:-}" ] || rm /usr/sbin/policy-rc.d
fi

children=()
postgres=
stop() {
  trap - EXIT INT TERM
  echo
  echo "Stopping ..."
  for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  [ -z "$postgres" ] || scripts/postgres.sh halt || true
}
trap stop EXIT
trap 'exit 0' INT TERM

wait_for() { # name, log, command ...
  local name=$1 log=$2 tries=0
  shift 2
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 150 ]; then
      echo "$name did not start. The end of $log:" >&2
      tail -n 20 "$log" >&2
      exit 1
    fi
    sleep 0.2
  done
}

# PostgreSQL runs as an account of its own and keeps its data outside of this folder.
export TOOLYARD_TEST_POSTGRES_FOLDER=/tmp/toolyard-cluster-$(id -u) TOOLYARD_TEST_POSTGRES_KEEP=1
server=$(scripts/postgres.sh start)
postgres=1
psql --quiet --no-psqlrc "$server" --command "CREATE DATABASE toolyard" 2>/dev/null || true

"$(scripts/nats.sh fetch)" --addr 127.0.0.1 --port "$nats_port" >"$data/nats.log" 2>&1 &
children+=($!)

# All nodes have the same root key.
[ -s "$data/root.key.hex" ] || od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$data/root.key.hex"
TOOLYARD_AUTH__ROOT_KEY=$(cat "$data/root.key.hex")
export TOOLYARD_AUTH__ROOT_KEY TOOLYARD_AUTH__MODE=token TOOLYARD_NET__ALLOW_LOOPBACK=true
export TOOLYARD_STORE__URL="${server/\/postgres\?/\/toolyard\?}" TOOLYARD_CLUSTER__NATS_URL=nats://127.0.0.1:$nats_port
for node in "${nodes[@]}"; do
  "$bin/toolyard" serve --listen "127.0.0.1:$node" --data "$data/node-$node" --public-url "$url" >"$data/node-$node.log" 2>&1 &
  children+=($!)
  wait_for "Node $node" "$data/node-$node.log" curl -fsS "http://127.0.0.1:$node/readyz"
done

cat >"$data/nginx.conf" <<NGINX
daemon off;
pid $data/nginx.pid;
error_log $data/nginx.log;
events {}
http {
    access_log off;
    client_body_temp_path $data/nginx-body;
    proxy_temp_path $data/nginx-proxy;
    fastcgi_temp_path $data/nginx-unused;
    uwsgi_temp_path $data/nginx-unused;
    scgi_temp_path $data/nginx-unused;
    upstream nodes {
$(printf '        server 127.0.0.1:%s max_fails=1 fail_timeout=2s;\n' "${nodes[@]}")
    }
    map \$http_upgrade \$connection_header { default upgrade; '' close; }
    server {
        listen 127.0.0.1:$port;
        client_max_body_size 10m;
        location / {
            proxy_pass http://nodes;
            proxy_http_version 1.1;
            proxy_set_header Host \$http_host;
            proxy_set_header Upgrade \$http_upgrade;
            proxy_set_header Connection \$connection_header;
            proxy_set_header X-Forwarded-For \$remote_addr;
            proxy_set_header Toolyard-Forwarded "";
            proxy_buffering off;
            proxy_connect_timeout 2s;
            proxy_read_timeout 1h;
            proxy_next_upstream error timeout;
        }
    }
}
NGINX
nginx -e "$data/nginx.log" -c "$data/nginx.conf" &
children+=($!)
wait_for nginx "$data/nginx.log" curl -fsS "$url/readyz"

operator=$("$bin/toolyard" token operator olga@example.com --data "$data/node-${nodes[0]}")
token=$("$bin/toolyard" token user $user --data "$data/node-${nodes[0]}")
toolyard() { "$bin/toolyard" --server "$url" --token "$operator" "$@"; }
keys=$data/todo.env
if [ ! -s "$keys" ] || ! toolyard apps show $package >/dev/null 2>&1; then
  toolyard apps rm $package --yes >/dev/null 2>&1 || true
  added=$(toolyard --json apps add --package $package --name "To-do list" --url "http://127.0.0.1:$todo_port" --kind session --type standard \
    --description "Keeps what you have to do")
  field() { printf '%s' "$added" | tr -d '\n' | sed -n "s/.*\"$1\": *\"\([0-9a-f]*\)\".*/\1/p"; }
  printf 'TODO_API_KEY=%s\nTODO_SIGNING_SECRET=%s\n' "$(field apiKey)" "$(field signingSecret)" >"$keys"
fi
set -a
# shellcheck disable=SC1090
. "$keys"
set +a
$bin/toolyard-todo --listen "127.0.0.1:$todo_port" --server "$url" --package $package --register >"$data/todo.log" 2>&1 &
children+=($!)
wait_for "The to-do app" "$data/todo.log" curl -fsS "http://127.0.0.1:$todo_port/health"
"$bin/toolyard" --server "$url" --token "$token" apps install $package >/dev/null
(umask 077 && printf '%s' "$token" >"$data/user.token" && printf '%s' "$operator" >"$data/operator.token")

cat <<TEXT

Three nodes run behind $url: ${nodes[*]/#/127.0.0.1:}
Tokens: $data/user.token ($user), $data/operator.token. Logs: $data/*.log

Try this in another terminal; every request may reach another node:

  $bin/toolyard --server $url --token "\$(cat data/cluster/user.token)" tools call $package:add_todo todo_item='buy milk'
  $bin/toolyard --server $url --token "\$(cat data/cluster/user.token)" tools call $package:get_todos

Stop a node with kill, or kill -9, and call again. Ctrl-C stops everything.
TEXT
wait
