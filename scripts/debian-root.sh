#!/usr/bin/env bash
# Unpacks the Debian packages and the pinned Node of our images, for any architecture. Runs and installs nothing, and needs
# no root. Release and mirrors are those of the apt configuration of this machine.
#
#   debian-root.sh amd64|arm64 DIRECTORY
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
architecture=${1:?amd64 or arm64}
dir=${2:?a directory}
case $architecture in
  amd64) node=x64 ;;
  arm64) node=arm64 ;;
  *) echo "debian-root.sh: no images for architecture $architecture" >&2; exit 2 ;;
esac
packages=(iproute2 nftables libstdc++6)

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
# With an empty status file apt also downloads all dependencies.
"${apt[@]}" --download-only install "${packages[@]}" >&2

# In the layout of dpkg, so that dpkg-query finds the package of a file.
echo 1 >"$dir/var/lib/dpkg/info/format"
for package in "$work"/archives/*.deb; do
  dpkg-deb --extract "$package" "$dir"
  name=$(dpkg-deb --field "$package" Package)
  multi_arch=$(dpkg-deb --field "$package" Multi-Arch)
  if [ "$multi_arch" = same ]; then list=$name:$architecture; else list=$name; fi
  dpkg-deb --fsys-tarfile "$package" | tar --list | sed 's#^\./$#/.#; t; s#^\.##; s#/$##' >"$dir/var/lib/dpkg/info/$list.list"
  { dpkg-deb --field "$package" | sed 's/^Package: .*/&\nStatus: install ok installed/'; echo; } >>"$dir/var/lib/dpkg/status"
done

# The version that package.json pins; npm verifies the checksum.
pinned=$(sed -n "s/.*\"node-linux-$node\": \"\(.*\)\".*/\1/p" "$here/../package.json")
(cd "$work" && npm pack --silent "node-linux-$node@$pinned" >/dev/null)
mkdir -p "$dir/node_modules/node-linux-$node"
tar --extract --gzip --strip-components=1 --directory "$dir/node_modules/node-linux-$node" --file "$work"/node-linux-"$node"-*.tgz
rm -rf "$work"
touch "$dir/complete"
