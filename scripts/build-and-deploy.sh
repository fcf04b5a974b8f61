#!/usr/bin/env bash
# Builds the images, pushes or copies them, and installs or upgrades the chart. Stops at the first error.
#
#   build-and-deploy.sh --type dev|staging|production|mgmt|single [options]
#
#   --type TYPE          values file of deployments/helm: values-TYPE.yaml
#   --registry PLACE     push the images to this registry (HOST[:PORT][/PATH]); log in first with `skopeo login`,
#                        `buildah login` or `docker login`
#   --nodes "A B C"      air-gapped: import the archives into containerd on these hosts over ssh
#                        (without --registry and --nodes: load them into the container runtime of this machine)
#   --arch ARCH          amd64 or arm64: images to build and push (default: this machine); a node gets its own architecture
#   --tag TAG            tag of the images (default: the version of the project)
#   --namespace NAME     namespace of the chart (default: multinic-system)
#   --values FILE        additional values, after those of the type; may be repeated
#   --skip-build         use the archives that are in dist/images
#   --dry-run            print the commands without running them
#   --help               print this help
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
chart=$root/deployments/helm
archives=$root/dist/images

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
fail() { echo "build-and-deploy.sh: $1" >&2; exit 2; }
title() { printf '\n==> %s\n' "$1"; }

# Architecture in the naming of Go.
architecture() {
  case $1 in
    x86_64 | amd64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) fail "no images for architecture $1: amd64 and arm64 are supported" ;;
  esac
}

type='' registry='' nodes='' arch='' tag='' namespace=multinic-system build=yes dry=
values=()
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --help) usage; exit 0 ;;
    --skip-build) build=; shift; continue ;;
    --dry-run) dry=yes; shift; continue ;;
  esac
  [ $# -ge 2 ] || fail "$option needs a value (see --help)"
  case $option in
    --type) type=$2 ;;
    --registry) registry=${2%/} ;;
    --nodes) nodes=$2 ;;
    --arch) arch=$2 ;;
    --tag) tag=$2 ;;
    --namespace) namespace=$2 ;;
    --values) values+=(--values "$2") ;;
    *) fail "unknown option $option (see --help)" ;;
  esac
  shift 2
done
case $type in
  dev | staging | production | mgmt | single) ;;
  '') fail "--type is missing: dev, staging, production, mgmt or single" ;;
  *) fail "--type $type: must be dev, staging, production, mgmt or single" ;;
esac
arch=$(architecture "${arch:-$(uname -m)}")
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json")
tag=${tag:-$version}

# Prints a command, then runs it unless --dry-run is set.
step() {
  printf '  $ %s\n' "$*"
  if [ -z "$dry" ]; then "$@"; fi
}
needs() {
  local tool
  for tool in "$@"; do
    if [ -z "$dry" ] && ! command -v "$tool" >/dev/null; then fail "$tool is not installed on this machine"; fi
  done
}
# Archive of an image (services, agent) and an architecture; archives of older versions may be in the same directory.
archive_of() {
  local archive=$archives/multinic-$1-$version-$2.tar
  if [ -z "$dry" ] && [ ! -e "$archive" ]; then
    fail "$archive does not exist: run make images ARCH=$2 IMAGE_TAG=$tag, then use --skip-build"
  fi
  echo "$archive"
}

needs kubectl helm
if [ -n "$build" ]; then
  title "build the images ($tag)"
  step make --silent --directory "$root" images "IMAGE_TAG=$tag" "ARCH=$arch"
fi

if [ -n "$registry" ]; then
  title "push the images to $registry"
  needs skopeo
  push() {
    local archive
    archive=$(archive_of "$1" "$arch")
    step skopeo copy "oci-archive:$archive:$2:$tag" "docker://$registry/$2:$tag"
  }
  for name in multinic-operator multinic-controller multinic-viola; do push services "$name"; done
  push agent multinic-agent
fi
for node in $nodes; do
  title "import the images into containerd on $node"
  needs ssh
  # Both architectures have the same image names: an import of the wrong one would replace the right one.
  node_arch=$arch
  if [ -z "$dry" ]; then
    machine=$(ssh "$node" uname -m </dev/null)
    node_arch=$(architecture "$machine")
  fi
  services=$(archive_of services "$node_arch")
  agent=$(archive_of agent "$node_arch")
  for archive in "$services" "$agent"; do
    printf '  $ ssh %s ctr --namespace k8s.io images import - < %s\n' "$node" "$archive"
    if [ -z "$dry" ]; then ssh "$node" ctr --namespace k8s.io images import - <"$archive"; fi
  done
done

if [ -n "$build" ] && [ -z "$registry$nodes" ]; then
  title "load the images into the container runtime of this machine"
  step "$here/images-load.sh"
fi

title "install the chart ($type) into $namespace"
images=(--set "controller.image.tag=$tag" --set "agent.image.tag=$tag" --set "operator.image.tag=$tag"
  --set "viola.image.tag=$tag" --set "inventory.image.tag=$tag")
if [ -n "$registry" ]; then
  images+=(--set "global.imageRegistry=$registry")
else
  # These images are in no registry: the kubelet must not pull them, whatever the values of the type say.
  for component in controller agent operator viola inventory; do images+=(--set "$component.image.pullPolicy=IfNotPresent"); done
fi
step helm upgrade --install multinic-agent "$chart" --namespace "$namespace" --create-namespace \
  --values "$chart/values-$type.yaml" "${values[@]}" "${images[@]}" --wait --timeout 5m
step kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=privileged --overwrite

# On the host network of one node an update may stop the old Pod first: then helm does not wait for the new one.
step kubectl --namespace "$namespace" rollout status deployment --selector app.kubernetes.io/part-of=multinic --timeout 5m

title "running Pods"
step kubectl --namespace "$namespace" get pods --selector app.kubernetes.io/part-of=multinic --output wide
