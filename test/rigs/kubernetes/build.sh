#!/usr/bin/env bash
# Builds kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy, kubelet and kubectl from the Go module proxy, once
# per machine, into ${XDG_CACHE_HOME:-~/.cache}/multinic/kubernetes/<version>. Takes about 8 minutes on two cores.
#
#   build.sh           builds missing programs and prints the directory
#   build.sh --check   builds nothing; fails if a program is missing
#
# With KUBEBUILDER_ASSETS, it uses kube-apiserver and kubectl of that directory and builds only the others. With
# KUBERNETES_VERSION (1.30), it builds the oldest supported version, which source-1.30 pins, instead of the newest: without
# kube-proxy, whose nftables mode is younger.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$here/source${KUBERNETES_VERSION:+-$KUBERNETES_VERSION}
if [ ! -f "$source/go.mod" ]; then
  echo "KUBERNETES_VERSION=$KUBERNETES_VERSION: unknown; known: $(cd "$here" && echo source-* | sed 's/source-//g')" >&2
  exit 1
fi
version=$(sed -n 's#^\tk8s.io/kubernetes v##p' "$source/go.mod")
needs_go=$(sed -n 's/^go //p' "$source/go.mod")
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/kubernetes/$version

programs=(kube-controller-manager kube-scheduler kubelet)
[ -n "${KUBERNETES_VERSION:-}" ] || programs+=(kube-proxy)
for program in kube-apiserver kubectl; do
  [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$program" ] || programs+=("$program")
done

# VERSION marks a complete build. With KUBEBUILDER_ASSETS a build may lack programs, so check each of them too.
missing() {
  local program
  for program in "${programs[@]}"; do
    [ -f "$out/VERSION" ] && [ -x "$out/$program" ] || echo "$program"
  done
}

if [ -z "$(missing)" ]; then echo "$out"; exit 0; fi
if [ "${1:-}" = --check ]; then echo "not built: $(missing | xargs)" >&2; exit 1; fi

if ! command -v go >/dev/null; then
  cat >&2 <<MESSAGE
The tests with real servers need Go to build Kubernetes $version, and 'go' is not installed.
Install Go $needs_go or newer (https://go.dev/dl/), or Go 1.21 or newer, which downloads the required toolchain.
The package golang-go of Debian 12 and Ubuntu 22.04 is too old. Or copy $out from another machine.
MESSAGE
  exit 1
fi

mkdir -p "$out"
exec 9>"$out/.lock"
if ! flock --nonblock 9; then
  echo "waiting for another build of Kubernetes $version" >&2
  flock 9
fi
todo=$(missing)
if [ -n "$todo" ]; then
  echo "building Kubernetes $version: $(echo "$todo" | xargs) (about 8 minutes on two cores, once)" >&2
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  stamp=k8s.io/component-base/version
  flags="-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=${version%%.*} -X $stamp.gitMinor=$(cut -d. -f2 <<<"$version")"
  # Without cgo the programs need no library of this machine, and the build needs no C compiler.
  # shellcheck disable=SC2046
  (cd "$source" && CGO_ENABLED=0 GOFLAGS= go build -mod=readonly -buildvcs=false -trimpath -ldflags "$flags" -o "$work/" \
    $(printf 'k8s.io/kubernetes/cmd/%s\n' $todo)) 9>&- >&2
  mv "$work"/* "$out/"
  echo "$version" >"$work/VERSION"
  mv "$work/VERSION" "$out/VERSION"
fi
echo "$out"
