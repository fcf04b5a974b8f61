#!/usr/bin/env bash
# Builds an OpenTelemetry collector from main.go and the Go module proxy, once per machine, into
# ${XDG_CACHE_HOME:-~/.cache}/multinic/otel-collector/<hash of its source>. Takes about 2 minutes on two cores.
#
#   build.sh           builds the collector if it is missing, and prints its path
#   build.sh --check   builds nothing; fails if the collector is missing
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hash=$(cat "$here"/main.go "$here"/go.mod "$here"/go.sum | sha256sum | cut -c 1-12)
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/otel-collector/$hash

if [ -x "$out/otel-collector" ]; then echo "$out/otel-collector"; exit 0; fi
if [ "${1:-}" = --check ]; then echo "the OpenTelemetry collector is not built" >&2; exit 1; fi
if ! command -v go >/dev/null; then
  echo "the test of exported traces needs Go 1.24 or newer to build an OpenTelemetry collector" >&2
  exit 1
fi

mkdir -p "$out"
exec 9>"$out/.lock"
flock 9
if [ ! -x "$out/otel-collector" ]; then
  echo "building an OpenTelemetry collector (about 2 minutes on two cores, once)" >&2
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$here" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -p 2 -mod=readonly -trimpath -ldflags '-s -w' -o "$work/otel-collector" . 9>&- >&2)
  mv "$work/otel-collector" "$out/otel-collector"
fi
echo "$out/otel-collector"
