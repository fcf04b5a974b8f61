#!/usr/bin/env bash
# Builds Multus (the thin plugin) and the CNI plugins that the tests use from the Go module proxy, once per machine, into
# ${XDG_CACHE_HOME:-~/.cache}/multinic/cni/<version of Multus>-<version of the plugins>. Takes about two minutes on two cores.
#
#   build.sh           builds missing programs and prints the directory
#   build.sh --check   builds nothing; fails if the programs are missing
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version_of() { sed -n "s#^\t$1 v\([^ ]*\).*#\1#p" "$here/source/go.mod"; }
version=$(version_of gopkg.in/k8snetworkplumbingwg/multus-cni.v4)-$(version_of github.com/containernetworking/plugins)
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/cni/$version

# An earlier release of this script built fewer programs of the same version, so check each of them.
programs=$(sed -n '/^tool (/,/^)/s#^\t##p' "$here/source/go.mod")
missing() {
  local program
  for program in $programs; do [ -x "$out/bin/${program##*/}" ] || echo "$program"; done
}

if [ -z "$(missing)" ]; then echo "$out/bin"; exit 0; fi
if [ "${1:-}" = --check ]; then echo "not built: $(missing | xargs -n 1 basename | xargs)" >&2; exit 1; fi
if ! command -v go >/dev/null; then
  echo "the tests of secondary networks need Go $(sed -n 's/^go //p' "$here/source/go.mod") or newer to build Multus and the CNI plugins" >&2
  exit 1
fi

mkdir -p "$out/bin"
exec 9>"$out/.lock"
flock 9
todo=$(missing)
if [ -n "$todo" ]; then
  echo "building $(echo "$todo" | xargs -n 1 basename | xargs) of CNI $version (all: about two minutes on two cores, once)" >&2
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # Without cgo they also run in guests with another C library.
  # shellcheck disable=SC2086
  (cd "$here/source" && CGO_ENABLED=0 GOFLAGS= go build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' \
    -o "$work/" $todo) 9>&- >&2
  find "$work" -maxdepth 1 -type f -exec mv {} "$out/bin/" \;
fi
echo "$out/bin"
