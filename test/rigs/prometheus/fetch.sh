#!/usr/bin/env bash
# Takes promtool out of Debian's or Ubuntu's package of Prometheus, once a machine, and prints its path: nothing is installed and
# no service is started. It is kept outside the tree in ${XDG_CACHE_HOME:-~/.cache}/multinic/prometheus. A promtool in the PATH is
# used instead.
set -euo pipefail

if command -v promtool; then exit 0; fi
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/prometheus
if [ ! -x "$out/promtool" ]; then
  if ! command -v apt-get >/dev/null; then
    echo "promtool is needed for the tests of the alerts: install it (it comes with Prometheus)" >&2
    exit 1
  fi
  mkdir -p "$out"
  work=$(mktemp -d "$out/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  # The lists may be absent (a new image) or older than the archive.
  apt-get download --quiet prometheus >&2 || { apt-get update --quiet >&2 && apt-get download --quiet prometheus >&2; }
  dpkg-deb --fsys-tarfile prometheus_*.deb | tar --extract ./usr/bin/promtool
  mv usr/bin/promtool "$out/promtool"
fi
echo "$out/promtool"
