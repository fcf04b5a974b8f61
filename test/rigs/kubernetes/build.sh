#!/usr/bin/env bash
# Builds kube-apiserver, kube-controller-manager, kubelet and kubectl from the Go module proxy, once a machine: they are
# kept outside the tree in ${XDG_CACHE_HOME:-~/.cache}/multinic/kubernetes/<version>. About 8 minutes on two cores.
#
#   build.sh           builds what is missing and prints the directory
#   build.sh --check   builds nothing; fails when something is missing
#
# With KUBEBUILDER_ASSETS the kube-apiserver and kubectl of that directory are used, and only the others are built.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(sed -n 's#^\tk8s.io/kubernetes v##p' "$here/source/go.mod")
needs_go=$(sed -n 's/^go //p' "$here/source/go.mod")
out=${XDG_CACHE_HOME:-$HOME/.cache}/multinic/kubernetes/$version

wanted=(kube-controller-manager kubelet)
for program in kube-apiserver kubectl; do
  [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$program" ] || wanted+=("$program")
done

# VERSION is written last, but it speaks for all four only when nothing came from KUBEBUILDER_ASSETS: so each is looked at.
missing() {
  local program
  for program in "${wanted[@]}"; do
    [ -f "$out/VERSION" ] && [ -x "$out/$program" ] || echo "$program"
  done
}

if [ -z "$(missing)" ]; then echo "$out"; exit 0; fi
if [ "${1:-}" = --check ]; then echo "not built yet: $(missing | xargs)" >&2; exit 1; fi

if ! command -v go >/dev/null; then
  cat >&2 <<MESSAGE
Go is needed to build Kubernetes $version for the tests on real parts, and there is no 'go' on this machine.
Install Go $needs_go or newer (https://go.dev/dl/), or any Go from 1.21 on: it fetches the toolchain it needs by itself.
The package golang-go of Debian 12 and Ubuntu 22.04 is too old. Or copy $out from another machine.
MESSAGE
  exit 1
fi

mkdir -p "$out"
exec 9>"$out/.lock"
if ! flock --nonblock 9; then
  echo "another build of Kubernetes $version is running: waiting for it" >&2
  flock 9
fi
todo=$(missing)
if [ -n "$todo" ]; then
  echo "building Kubernetes $version: $(echo "$todo" | xargs) (about 8 minutes on two cores, once)" >&2
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  stamp=k8s.io/component-base/version
  flags="-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=${version%%.*} -X $stamp.gitMinor=$(cut -d. -f2 <<<"$version")"
  # Without cgo the programs depend on no library of this machine, and no C compiler is needed.
  # shellcheck disable=SC2046
  (cd "$here/source" && CGO_ENABLED=0 GOFLAGS= go build -mod=readonly -buildvcs=false -trimpath -ldflags "$flags" -o "$work/" \
    $(printf 'k8s.io/kubernetes/cmd/%s\n' $todo)) 9>&- >&2
  mv "$work"/* "$out/"
  echo "$version" >"$work/VERSION"
  mv "$work/VERSION" "$out/VERSION"
fi
echo "$out"
