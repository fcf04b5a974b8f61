#!/usr/bin/env bash
# Builds oauth2-proxy from the Go module proxy, once per machine, into
# ${XDG_CACHE_HOME:-~/.cache}/multinic/oauth2-proxy/<version>. Takes about 5 minutes on two cores.
#
#   build.sh           builds oauth2-proxy if it is missing, and prints its path
#   build.sh --check   builds nothing; fails if oauth2-proxy is missing
set -euo pipefail

version=7.15.3
module=github.com/oauth2-proxy/oauth2-proxy/v7
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/oauth2-proxy/$version

if [ -x "$out/oauth2-proxy" ]; then echo "$out/oauth2-proxy"; exit 0; fi
if [ "${1:-}" = --check ]; then echo "oauth2-proxy $version is not built" >&2; exit 1; fi
if ! command -v go >/dev/null; then
  echo "the test of the sign-in by an identity provider needs Go 1.21 or newer to build oauth2-proxy $version" >&2
  exit 1
fi

mkdir -p "$out"
exec 9>"$out/.lock"
flock 9
if [ ! -x "$out/oauth2-proxy" ]; then
  echo "building oauth2-proxy $version (about 5 minutes on two cores, once)" >&2
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
  # From its own directory, with its own go.sum: `go install` would also need the list of all versions.
  source=$(cd "$work" && go mod download -json "$module@v$version" 9>&- | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  cp -r "$source" "$work/source"
  chmod -R u+w "$work/source"
  (cd "$work/source" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$work/oauth2-proxy" . 9>&- >&2)
  mv "$work/oauth2-proxy" "$out/oauth2-proxy"
fi
echo "$out/oauth2-proxy"
