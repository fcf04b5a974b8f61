#!/usr/bin/env bash
# Builds the images, brings them to where they are needed, and installs or upgrades the chart. Stops at the first error.
#
#   build-and-deploy.sh --type dev|staging|production|mgmt [options]
#
#   --type TYPE          which values file of deployments/helm is used
#   --registry PLACE     push the images there (HOST[:PORT][/PATH]); who you are comes from your own login
#                        (`skopeo login`, `buildah login` or `docker login` before), never from this command line
#   --nodes "A B C"      air-gapped: copy the archives to these hosts by ssh and hand them to containerd there
#                        (with neither, what was built is handed to the container runtime of this machine)
#   --arch ARCH          amd64 or arm64: whose images are built and pushed (default: of this machine); a node gets those of its own
#   --tag TAG            tag of the images (default: the version of the project)
#   --namespace NAME     where the chart goes (default: multinic-system)
#   --values FILE        more values, after those of the type; may be given several times
#   --skip-build         the archives are in dist/images already
#   --dry-run            say what would be done, and do nothing
#   --help               this page
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
chart=$root/deployments/helm
archives=$root/dist/images

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
fail() { echo "build-and-deploy.sh: $1" >&2; exit 2; }
say() { printf '\n==> %s\n' "$1"; }

# As Go names processors.
processor() {
  case $1 in
    x86_64 | amd64) echo amd64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) fail "there are no images for the processor $1" ;;
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
    *) fail "there is no option $option (see --help)" ;;
  esac
  shift 2
done
case $type in
  dev | staging | production | mgmt) ;;
  '') fail "--type is missing: dev, staging, production or mgmt" ;;
  *) fail "--type $type: must be dev, staging, production or mgmt" ;;
esac
arch=$(processor "${arch:-$(uname -m)}")
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json")
tag=${tag:-$version}

# Shown before it is done; with --dry-run only shown.
step() {
  printf '  $ %s\n' "$*"
  if [ -z "$dry" ]; then "$@"; fi
}
needs() {
  local tool
  for tool in "$@"; do
    if [ -z "$dry" ] && ! command -v "$tool" >/dev/null; then fail "$tool is not on this machine; it is needed for this"; fi
  done
}
# Of a kind of image and a processor; those of an older version may lie beside it.
archive_of() {
  local archive=$archives/multinic-$1-$version-$2.tar
  if [ -z "$dry" ] && [ ! -e "$archive" ]; then
    fail "there is no $archive: make images ARCH=$2 IMAGE_TAG=$tag, then --skip-build"
  fi
  echo "$archive"
}

needs kubectl helm
if [ -n "$build" ]; then
  say "build the images ($tag)"
  step make --silent --directory "$root" images "IMAGE_TAG=$tag" "ARCH=$arch"
fi

if [ -n "$registry" ]; then
  say "push them to $registry"
  needs skopeo
  push() {
    local archive
    archive=$(archive_of "$1" "$arch")
    step skopeo copy "oci-archive:$archive:$2:$tag" "docker://$registry/$2:$tag"
  }
  for name in multinic-operator multinic-controller multinic-viola-test-api; do push services "$name"; done
  push agent multinic-agent
fi
for node in $nodes; do
  say "hand them to containerd on $node"
  needs ssh
  # An image of another processor would take the name of the right one.
  theirs=$arch
  if [ -z "$dry" ]; then
    said=$(ssh "$node" uname -m </dev/null)
    theirs=$(processor "$said")
  fi
  services=$(archive_of services "$theirs")
  agent=$(archive_of agent "$theirs")
  for archive in "$services" "$agent"; do
    printf '  $ ssh %s ctr --namespace k8s.io images import - < %s\n' "$node" "$archive"
    if [ -z "$dry" ]; then ssh "$node" ctr --namespace k8s.io images import - <"$archive"; fi
  done
done

if [ -n "$build" ] && [ -z "$registry$nodes" ]; then
  say "hand them to the container runtime of this machine"
  step "$here/images-load.sh"
fi

say "install the chart ($type) into $namespace"
images=(--set "controller.image.tag=$tag" --set "agent.image.tag=$tag" --set "operator.image.tag=$tag"
  --set "viola.image.tag=$tag" --set "inventory.image.tag=$tag")
if [ -n "$registry" ]; then
  images+=(--set "global.imageRegistry=$registry")
else
  # What a node was handed is in no registry: nobody may ask for it there, whatever the values of the type say.
  for part in controller agent operator viola inventory; do images+=(--set "$part.image.pullPolicy=IfNotPresent"); done
fi
step helm upgrade --install multinic-agent "$chart" --namespace "$namespace" --create-namespace \
  --values "$chart/values-$type.yaml" "${values[@]}" "${images[@]}" --wait --timeout 5m
step kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=privileged --overwrite

say "what runs now"
step kubectl --namespace "$namespace" get pods --selector app.kubernetes.io/part-of=multinic --output wide
