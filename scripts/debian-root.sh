#!/usr/bin/env bash
# Unpacks what our images take from Debian, and the pinned Node, for a processor that this machine need not be. Nothing of it
# is run or installed, and root is not needed. The packages are of the release and the mirrors that this machine's apt knows.
#
#   debian-root.sh amd64|arm64 DIRECTORY
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
architecture=${1:?amd64 or arm64}
dir=${2:?a directory}
case $architecture in
  amd64) node=x64 ;;
  arm64) node=arm64 ;;
  *) echo "debian-root.sh: no image is made for $architecture" >&2; exit 2 ;;
esac
packages=(iproute2 libstdc++6)

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
work=$dir/fetched
mkdir -p "$work/lists/partial" "$work/archives/partial" "$dir/var/lib/dpkg/info" "$dir/node_modules"
: >"$work/status"
apt=(apt-get --quiet --yes --no-install-recommends
  --option "APT::Architecture=$architecture" --option "APT::Architectures=$architecture"
  --option "Dir::State::Lists=$work/lists" --option "Dir::State::status=$work/status"
  --option "Dir::Cache::Archives=$work/archives" --option "Dir::Cache::pkgcache=" --option "Dir::Cache::srcpkgcache="
  --option Debug::NoLocking=1 --option APT::Sandbox::User=)
"${apt[@]}" update >&2
# Nothing counts as installed: all that they need comes too.
"${apt[@]}" --download-only install "${packages[@]}" >&2

# As dpkg keeps it, so that dpkg-query knows whose a file is.
echo 1 >"$dir/var/lib/dpkg/info/format"
for package in "$work"/archives/*.deb; do
  dpkg-deb --extract "$package" "$dir"
  name=$(dpkg-deb --field "$package" Package)
  same=$(dpkg-deb --field "$package" Multi-Arch)
  if [ "$same" = same ]; then list=$name:$architecture; else list=$name; fi
  dpkg-deb --fsys-tarfile "$package" | tar --list | sed 's#^\./$#/.#; t; s#^\.##; s#/$##' >"$dir/var/lib/dpkg/info/$list.list"
  { dpkg-deb --field "$package" | sed 's/^Package: .*/&\nStatus: install ok installed/'; echo; } >>"$dir/var/lib/dpkg/status"
done

# By the version that package.json pins; npm checks what it fetches.
pinned=$(sed -n "s/.*\"node-linux-$node\": \"\(.*\)\".*/\1/p" "$here/../package.json")
(cd "$work" && npm pack --silent "node-linux-$node@$pinned" >/dev/null)
mkdir -p "$dir/node_modules/node-linux-$node"
tar --extract --gzip --strip-components=1 --directory "$dir/node_modules/node-linux-$node" --file "$work"/node-linux-"$node"-*.tgz
rm -rf "$work"
touch "$dir/complete"
