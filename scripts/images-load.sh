#!/usr/bin/env bash
# `make images-load`: loads the archives of `make images` into the container runtime of this machine, without a registry. For
# a node of an air-gapped cluster, copy dist/images and this script to the node and run it as root.
#
#   images-load.sh [DIRECTORY]      default: dist/images
#
# Uses the first installed of ctr (containerd of a kubelet), nerdctl, podman and docker; RUNTIME= overrides the choice.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:-$here/../dist/images}
case $(uname -m) in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) echo "images-load.sh: no images for architecture $(uname -m)" >&2; exit 1 ;;
esac

sums=SHA256SUMS-$architecture
if [ ! -e "$dir/$sums" ]; then
  echo "images-load.sh: no archive for $architecture in $dir: run make images" >&2
  exit 1
fi
(cd "$dir" && sha256sum --check --quiet "$sums")
# Load only the checked archives: those of another version may be in the same directory.
mapfile -t archives < <(sed -n 's/^[0-9a-f]*  \(.*\.tar\)$/\1/p' "$dir/$sums")

runtime=${RUNTIME:-}
if [ -z "$runtime" ]; then
  for candidate in ctr nerdctl podman docker; do
    if command -v "$candidate" >/dev/null; then runtime=$candidate; break; fi
  done
fi
for archive in "${archives[@]}"; do
  echo "loading $archive into ${runtime:-nothing}"
  case $runtime in
    ctr) ctr --namespace k8s.io images import "$dir/$archive" ;;
    nerdctl) nerdctl --namespace k8s.io load --input "$dir/$archive" ;;
    podman | docker) "$runtime" load --input "$dir/$archive" ;;
    *) echo "images-load.sh: found no ctr, nerdctl, podman or docker" >&2; exit 1 ;;
  esac
done
