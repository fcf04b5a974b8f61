#!/usr/bin/env bash
# `make images-load`: hands the archives of `make images` to the container runtime of this machine, no registry needed. On a
# node of an air-gapped cluster, copy dist/images and this script there and run it as root.
#
#   images-load.sh [DIRECTORY]      dist/images when absent
#
# The runtime is the first of ctr (containerd of a kubelet), nerdctl, podman and docker that is there; RUNTIME= names another.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$here/../dist/images}
case $(uname -m) in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) echo "images-load.sh: no image for processor $(uname -m)" >&2; exit 1 ;;
esac

sums=SHA256SUMS-$architecture
if [ ! -e "$dir/$sums" ]; then
  echo "images-load.sh: no archive for $architecture in $dir: run make images first" >&2
  exit 1
fi
(cd "$dir" && sha256sum --check --quiet "$sums")
# Archives of another version may lie beside those that were checked.
mapfile -t archives < <(sed -n 's/^[0-9a-f]*  \(.*\.tar\)$/\1/p' "$dir/$sums")

runtime=${RUNTIME:-}
if [ -z "$runtime" ]; then
  for one in ctr nerdctl podman docker; do
    if command -v "$one" >/dev/null; then runtime=$one; break; fi
  done
fi
for archive in "${archives[@]}"; do
  echo "loading $archive into ${runtime:-nothing}"
  case $runtime in
    ctr) ctr --namespace k8s.io images import "$dir/$archive" ;;
    nerdctl) nerdctl --namespace k8s.io load --input "$dir/$archive" ;;
    podman | docker) "$runtime" load --input "$dir/$archive" ;;
    *) echo "images-load.sh: there is no ctr, nerdctl, podman or docker here" >&2; exit 1 ;;
  esac
done
