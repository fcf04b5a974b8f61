#!/usr/bin/env bash
# Deletes the CRDs of MultiNIC from the cluster of your kubeconfig. Refuses while objects of them exist, because deleting a
# CRD deletes its objects, and with them the desired state of the nodes. A failed request never counts as "no objects".
#
#   uninstall.sh           refuses while objects exist
#   FORCE=1 uninstall.sh   deletes the objects without cleaning up the nodes: the NICs stay
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kubectl=${KUBECTL:-kubectl}
kinds=(openstackconfigs.multinic.example.com multinicnodeconfigs.multinic.io multinicbizconfigs.multinic.io)

abort() { echo "uninstall.sh: $1; nothing was deleted" >&2; exit 1; }
crd_of() { "$kubectl" get customresourcedefinition "$1" --ignore-not-found -o name; }
# One line per object: kind, namespace, name.
objects_of() { "$kubectl" get "$1" --all-namespaces -o "jsonpath={range .items[*]}$1 {.metadata.namespace} {.metadata.name}{\"\\n\"}{end}"; }

served=() objects=()
for kind in "${kinds[@]}"; do
  crd=$(crd_of "$kind") || abort "cannot read CRD $kind"
  if [ -z "$crd" ]; then continue; fi
  served+=("$kind")
  listed=$(objects_of "$kind") || abort "cannot list $kind"
  while read -r line; do
    if [ -n "$line" ]; then objects+=("$line"); fi
  done <<<"$listed"
done
if [ ${#served[@]} = 0 ]; then echo "nothing to delete: the cluster has no CRD of MultiNIC"; exit 0; fi

if [ ${#objects[@]} -gt 0 ] && [ "${FORCE:-}" != 1 ]; then
  {
    echo "refused: ${#objects[@]} objects exist, and would be deleted with their CRDs:"
    printf '  %s\n' "${objects[@]:0:20}"
    echo "Delete them first, so that the nodes are cleaned up (kubectl delete …). Or set FORCE=1: then the NICs stay on the nodes."
  } >&2
  exit 1
fi

# A running component may add its finalizer again before the object is deleted. The annotation and the policy then tell it to
# leave the nodes as they are.
release() {
  local kind=$1 namespace=$2 name=$3 keep='"metadata":{"finalizers":null,"annotations":{"multinic.io/force-delete":"uninstall"}}'
  if [ "$kind" = "${kinds[0]}" ]; then keep='"metadata":{"finalizers":null},"spec":{"deletionPolicy":"Retain"}'; fi
  "$kubectl" patch "$kind" "$name" --namespace "$namespace" --type merge --patch "{$keep}" >/dev/null
}
for object in "${objects[@]}"; do
  read -r kind namespace name <<<"$object"
  release "$kind" "$namespace" "$name" || echo "uninstall.sh: $kind $namespace/$name: cannot remove finalizers, continuing" >&2
done
"$kubectl" delete --kustomize "$here/../config/crd" --ignore-not-found --wait=false

# The API server accepts no new finalizer on an object that is being deleted, so this loop ends.
for ((second = 0; second < 120; second++)); do
  left=()
  for kind in "${served[@]}"; do
    crd=$(crd_of "$kind")
    if [ -z "$crd" ]; then continue; fi
    left+=("$kind")
    if [ "${FORCE:-}" != 1 ]; then continue; fi
    while read -r _ namespace name; do
      if [ -n "$name" ]; then release "$kind" "$namespace" "$name" || true; fi
    done < <(objects_of "$kind" 2>/dev/null)
  done
  if [ ${#left[@]} = 0 ]; then exit 0; fi
  sleep 1
done
echo "uninstall.sh: not deleted after two minutes: ${left[*]}; finalizers of their objects block the deletion (kubectl get … --all-namespaces)" >&2
exit 1
