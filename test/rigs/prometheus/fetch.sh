#!/usr/bin/env bash
# Extracts promtool from the Prometheus package of Debian or Ubuntu, once per machine, and prints its path. Installs nothing and
# starts no service. The file is stored in ${XDG_CACHE_HOME:-~/.cache}/multinic/prometheus. Uses promtool from the PATH if there
# is one.
set -euo pipefail

if command -v promtool; then exit 0; fi
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/prometheus
if [ ! -x "$out/promtool" ]; then
  if ! command -v apt-get >/dev/null; then
    echo "the tests of the alerts need promtool: install Prometheus" >&2
    exit 1
  fi
  mkdir -p "$out"
  work=$(mktemp -d "$out/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  # The package lists may be missing (new image) or older than the archive.
  apt-get download --quiet prometheus >&2 || { apt-get update --quiet >&2 && apt-get download --quiet prometheus >&2; }
  dpkg-deb --fsys-tarfile prometheus_*.deb | tar --extract ./usr/bin/promtool
  mv usr/bin/promtool "$out/promtool"
fi
echo "$out/promtool"
