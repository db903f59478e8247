#!/usr/bin/env bash
# Builds packages of the server in target/packages.
#
#   scripts/package.sh deb      a Debian package
#   scripts/package.sh image    a container image, as an OCI archive that `docker load` and `podman load` read
#   scripts/package.sh          both
#
# TOOLYARD_BINARY=FILE packages this program instead of building one; an image needs a static one. TOOLYARD_PACKAGES=FOLDER writes to another
# folder. The same commit and program give the same bytes: all times are SOURCE_DATE_EPOCH, by default the time of the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

out=${TOOLYARD_PACKAGES:-target/packages}
# An image with more than the program in it is a mistake.
max_image_mb=40

fail() {
  echo "$1" >&2
  exit 1
}

need() { # command, Debian package
  command -v "$1" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing $2 ..." >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$2" >/dev/null 2>&1 ||
      { apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$2" >/dev/null; } || true
  fi
  command -v "$1" >/dev/null || fail "$1 is missing (on Debian: apt-get install $2)."
}

version=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[ -n "$version" ] || fail "Cargo.toml has no workspace version."
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || fail "This is not a git checkout: set SOURCE_DATE_EPOCH."
fi
export SOURCE_DATE_EPOCH
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
# Debian sorts `~` before everything, so 1.0.0~rc.1 comes before 1.0.0.
deb_version=${version/-/\~}
need dpkg-deb dpkg
architecture=$(dpkg --print-architecture)

is_static() {
  local headers
  headers=$(LC_ALL=C readelf -lW "$1" 2>/dev/null) || fail "$1 is not a program of this system."
  [[ $headers != *INTERP* ]]
}

# The staging folders. A failed run leaves nothing behind.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# --- Debian package ---------------------------------------------------------------------------------------------------------------------

# The shared libraries of the program as a list for Depends:, starting with a comma. Empty for a static program.
library_dependencies() { # program
  is_static "$1" && return
  need dpkg-shlibdeps dpkg-dev
  local folder=$stage/shlibdeps found
  mkdir -p "$folder/debian"
  printf 'Source: toolyard\n' >"$folder/debian/control"
  cp "$1" "$folder/toolyard"
  found=$(cd "$folder" && dpkg-shlibdeps -O toolyard 2>/dev/null) || fail "The libraries of $1 are not from Debian packages."
  echo ", ${found#shlibs:Depends=}"
}

fill_in() { # template, name=value ...
  local text name
  text=$(cat "$1")
  shift
  for name in "$@"; do text=${text//@${name%%=*}@/${name#*=}}; done
  printf '%s\n' "$text"
}

# The license as a paragraph of debian/copyright: indented, with dots for empty lines.
license_paragraph() { sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT; }

changelog() {
  cat <<EOF
toolyard ($deb_version) stable; urgency=medium

  * Version $version. The changes are in CHANGELOG.md of the source.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
EOF
}

# Manual pages and completions, printed by the program itself.
stage_generated() { # program, root
  mkdir -p "$stage/man"
  "$1" man --out "$stage/man" >/dev/null || fail "$1 cannot write its manual pages."
  install -d "$2/usr/share/man/man1" "$2/usr/share/bash-completion/completions" "$2/usr/share/zsh/vendor-completions" \
    "$2/usr/share/fish/vendor_completions.d"
  gzip -9n "$stage"/man/*.1
  install -m 0644 -t "$2/usr/share/man/man1" "$stage"/man/*.1.gz
  "$1" completions bash >"$2/usr/share/bash-completion/completions/toolyard"
  "$1" completions zsh >"$2/usr/share/zsh/vendor-completions/_toolyard"
  "$1" completions fish >"$2/usr/share/fish/vendor_completions.d/toolyard.fish"
}

build_deb() {
  local program=${TOOLYARD_BINARY:-target/dist/toolyard} root=$stage/deb depends docs file
  maintainer=${PACKAGE_MAINTAINER:-Toolyard maintainers <maintainers@toolyard.invalid>}
  [ -n "${TOOLYARD_BINARY:-}" ] || make dist
  docs=$root/usr/share/doc/toolyard
  install -D -m 0755 "$program" "$root/usr/bin/toolyard"
  install -D -m 0644 deploy/systemd/toolyard.service "$root/lib/systemd/system/toolyard.service"
  install -D -m 0644 deploy/deb/toolyard.toml "$root/etc/toolyard/toolyard.toml"
  install -D -m 0644 -t "$docs/examples" deploy/systemd/examples/*.conf deploy/caddy/Caddyfile
  install -D -m 0644 deploy/nginx/toolyard.conf "$docs/examples/nginx-toolyard.conf"
  stage_generated "$program" "$root"
  fill_in deploy/deb/copyright "MIT=$(license_paragraph)" >"$docs/copyright"
  changelog | gzip -9n >"$docs/changelog.gz"

  depends=$(library_dependencies "$root/usr/bin/toolyard")
  install -d "$root/DEBIAN"
  fill_in deploy/deb/control "VERSION=$deb_version" "ARCHITECTURE=$architecture" "MAINTAINER=$maintainer" "DEPENDS=$depends" \
    "SIZE=$(du -k --apparent-size -s --exclude=DEBIAN "$root" | cut -f1)" >"$root/DEBIAN/control"
  echo /etc/toolyard/toolyard.toml >"$root/DEBIAN/conffiles"
  install -m 0755 -t "$root/DEBIAN" deploy/deb/postinst deploy/deb/prerm deploy/deb/postrm
  (cd "$root" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$stage/md5sums"
  install -m 0644 "$stage/md5sums" "$root/DEBIAN/md5sums"
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

  mkdir -p "$out"
  file=$out/toolyard_${deb_version}_$architecture.deb
  # One thread, because blocks of several threads would depend on the number of processors.
  dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" "$file" >/dev/null
  echo "$file: $(du -k "$file" | cut -f1) KB"
}

# --- Image ------------------------------------------------------------------------------------------------------------------------------

# A static program, because the image has nothing else in it. It is linked with glibc, because musl would need a second C toolchain: SQLite,
# aws-lc and QuickJS are written in C. The usual objection to a static glibc is that it loads libraries to resolve names. Since version 2.34
# (Debian 12 has 2.36) `files` and `dns` are part of it, and nsswitch.conf in the image names only these.
static_program() {
  local target
  target=$(uname -m)-unknown-linux-gnu
  scripts/build-console.sh >&2
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --profile dist --locked --target "$target" -p toolyard-cli >&2
  echo "target/$target/dist/toolyard"
}

# Turns the folder of an OCI image into an archive. Docker without containerd's image store does not read OCI archives, so a manifest in
# Docker's own format names the same files.
write_archive() { # folder, tag, archive
  local blobs=$1/blobs/sha256 digest
  digest=$(jq -r '.manifests[0].digest | ltrimstr("sha256:")' "$1/index.json")
  jq -c --arg tag "$2" '[{Config: "blobs/sha256/\(.config.digest[7:])", RepoTags: [$tag], Layers: [.layers[] | "blobs/sha256/\(.digest[7:])"]}]' \
    "$blobs/$digest" >"$1/manifest.json"
  tar --create --file "$3" --directory "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    blobs index.json manifest.json oci-layout
}

build_image() {
  local program context=$stage/context tag=toolyard:$version file=$out/toolyard-$version-$architecture.oci.tar size
  need buildah buildah
  need jq jq
  program=${TOOLYARD_BINARY:-}
  [ -n "$program" ] || program=$(static_program)
  is_static "$program" || fail "$program needs shared libraries, and the image has none. Build it with -C target-feature=+crt-static."

  install -d -m 0700 "$context/folders/data"
  install -d -m 1777 "$context/folders/tmp"
  install -m 0755 "$program" "$context/toolyard"
  install -m 0644 -t "$context" deploy/image/toolyard.toml deploy/image/nsswitch.conf
  # What a machine that runs it stores, not the compressed archive.
  size=$(du -k --apparent-size -s "$context" | cut -f1)
  [ "$size" -le $((max_image_mb * 1024)) ] || fail "The image has $((size / 1024)) MB; at most $max_image_mb MB are allowed."

  # Works as root without a daemon, and inside containers. The storage is in the staging folder, so no other image is touched.
  local buildah=(buildah --root "$stage/storage" --runroot "$stage/run" --storage-driver vfs)
  "${buildah[@]}" build --quiet --isolation chroot --format docker --timestamp "$SOURCE_DATE_EPOCH" --build-arg "VERSION=$version" \
    --build-arg "REVISION=$revision" --tag "$tag" --file deploy/Dockerfile "$context" >/dev/null
  "${buildah[@]}" push --quiet --format oci "$tag" "oci:$stage/layout:$tag" >/dev/null
  mkdir -p "$out"
  write_archive "$stage/layout" "$tag" "$file"
  echo "$file: $(du -k "$file" | cut -f1) KB, unpacked $size KB"
}

need readelf binutils
case ${1:-all} in
deb) build_deb ;;
image) build_image ;;
all)
  build_deb
  build_image
  ;;
*) fail "Usage: scripts/package.sh [deb | image]" ;;
esac
