#!/usr/bin/env bash
# Fetches the published types of Grafana's dashboard schema from the npm registry, once per machine, and prints their directory:
# ${XDG_CACHE_HOME:-~/.cache}/multinic/grafana/<version>. Installs nothing and runs no script of the package.
set -euo pipefail

version=13.2.3
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/grafana/$version
if [ ! -d "$out/schema" ]; then
  mkdir -p "$out"
  work=$(mktemp -d "$out/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --silent --ignore-scripts "@grafana/schema@$version" && tar --extract --gzip --file ./*.tgz) >&2
  mv "$work/package" "$out/schema"
fi
echo "$out"
