#!/usr/bin/env bash
# Checks the alert rules under deploy/monitoring with promtool, and runs their unit tests. If promtool is missing, it is taken from Debian's
# package `prometheus`, which is not installed, so that no service is started.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}/promtool
tool=$(command -v promtool || true)
[ -n "$tool" ] || [ ! -x "$folder/usr/bin/promtool" ] || tool=$folder/usr/bin/promtool

if [ -z "$tool" ]; then
  if ! command -v apt-get >/dev/null; then
    echo "The check needs promtool, which is part of Prometheus 2.42 or later (on Debian: the package prometheus)." >&2
    exit 1
  fi
  mkdir -p "$folder"
  downloads=$(mktemp -d)
  trap 'rm -rf "$downloads"' EXIT
  # `apt-get download` drops its privileges.
  chmod 777 "$downloads"
  (cd "$downloads" && { apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }; })
  dpkg-deb --fsys-tarfile "$downloads"/prometheus_*.deb | tar --extract --directory "$folder" ./usr/bin/promtool
  tool=$folder/usr/bin/promtool
fi

"$tool" check rules deploy/monitoring/alerts.yaml
"$tool" test rules deploy/monitoring/alerts.test.yaml
