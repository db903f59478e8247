#!/usr/bin/env bash
# Writes the secrets of cluster.yaml with new random values, and creates the folder for the certificate. Run it once, as root: Docker mounts
# the files with their owner, and only the user of the servers (10001) may read theirs.
set -euo pipefail
cd "$(dirname "$0")"
umask 077

if [ "$(id -u)" != 0 ]; then
  echo "Run this as root: it changes the owner of files." >&2
  exit 1
fi
if [ -e secrets ]; then
  echo "$PWD/secrets exists and was not changed: the database and its backups depend on these values." >&2
  exit 1
fi

# Only letters and digits, so that it needs no escaping in a URL.
random_hex() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
root_key=$(random_hex)
postgres_password=$(random_hex)
nats_password=$(random_hex)

rm -rf secrets.new
mkdir -p tls secrets.new
printf '%s\n' "$root_key" >secrets.new/root_key
printf '%s\n' "$postgres_password" >secrets.new/postgres_password

cat >secrets.new/nats.conf <<EOF
server_name: nats
listen: "0.0.0.0:4222"
# For the health check only.
http: "127.0.0.1:8222"
jetstream {
  store_dir: "/data"
}
authorization {
  user: toolyard
  password: "$nats_password"
}
EOF

cat >secrets.new/toolyard.toml <<EOF
[server]
listen = "0.0.0.0:8787"
# For health checks, and for requests between the nodes. The host of the public URL is always allowed.
hosts = ["localhost", "127.0.0.1", "node-1", "node-2", "node-3"]

[auth]
mode = "token"
# All nodes need the same key.
root_key_file = "/run/secrets/root_key"

[store]
url = "postgres://toolyard:$postgres_password@postgres/toolyard"

[cluster]
nats_url = "nats://toolyard:$nats_password@nats:4222"
EOF

# Last, so that an interrupted run does not leave a folder that looks complete.
chown 10001:10001 secrets.new/toolyard.toml secrets.new/root_key
mv secrets.new secrets
echo "Wrote $PWD/secrets. Back up this folder: without root_key, stored secrets and tokens are lost."
