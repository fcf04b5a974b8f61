#!/usr/bin/env bash
# Removes our CustomResourceDefinitions from the cluster of your kubeconfig. Refuses while objects of them exist: deleting
# a definition deletes its objects, and with them what the nodes are to have. What cannot be read is never taken for empty.
#
#   uninstall.sh           refuses while objects exist
#   FORCE=1 uninstall.sh   lets the objects go without their clean-up: NICs stay as they are
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kubectl=${KUBECTL:-kubectl}
kinds=(openstackconfigs.multinic.example.com multinicnodeconfigs.multinic.io multinicbizconfigs.multinic.io)

stopped() { echo "uninstall.sh: $1; nothing was removed" >&2; exit 1; }
definition_of() { "$kubectl" get customresourcedefinition "$1" --ignore-not-found -o name; }
# One line each: kind, namespace, name.
objects_of() { "$kubectl" get "$1" --all-namespaces -o "jsonpath={range .items[*]}$1 {.metadata.namespace} {.metadata.name}{\"\\n\"}{end}"; }

served=() objects=()
for kind in "${kinds[@]}"; do
  definition=$(definition_of "$kind") || stopped "the cluster does not tell whether it has $kind"
  if [ -z "$definition" ]; then continue; fi
  served+=("$kind")
  listed=$(objects_of "$kind") || stopped "the cluster does not tell which $kind exist"
  while read -r line; do
    if [ -n "$line" ]; then objects+=("$line"); fi
  done <<<"$listed"
done
if [ ${#served[@]} = 0 ]; then echo "nothing to remove: our CRDs are not in this cluster"; exit 0; fi

if [ ${#objects[@]} -gt 0 ] && [ "${FORCE:-}" != 1 ]; then
  {
    echo "refused: ${#objects[@]} objects exist, and would be deleted with their definitions:"
    printf '  %s\n' "${objects[@]:0:20}"
    echo "Delete them first, so that the nodes are cleaned up (kubectl delete …), or run it with FORCE=1: then the NICs stay as they are."
  } >&2
  exit 1
fi

# Parts of ours may still run, and put their finalizer back before the object is deleted: then they read here that nodes keep
# what they have.
let_go() {
  local kind=$1 namespace=$2 name=$3 keep='"metadata":{"finalizers":null,"annotations":{"multinic.io/force-delete":"uninstall"}}'
  if [ "$kind" = "${kinds[0]}" ]; then keep='"metadata":{"finalizers":null},"spec":{"deletionPolicy":"Retain"}'; fi
  "$kubectl" patch "$kind" "$name" --namespace "$namespace" --type merge --patch "{$keep}" >/dev/null
}
for object in "${objects[@]}"; do
  read -r kind namespace name <<<"$object"
  let_go "$kind" "$namespace" "$name" || echo "uninstall.sh: $kind $namespace/$name cannot be changed; going on" >&2
done
"$kubectl" delete --kustomize "$here/../config/crd" --ignore-not-found --wait=false

# Nobody can add a finalizer to what is being deleted, so this ends.
for ((second = 0; second < 120; second++)); do
  left=()
  for kind in "${served[@]}"; do
    definition=$(definition_of "$kind")
    if [ -z "$definition" ]; then continue; fi
    left+=("$kind")
    if [ "${FORCE:-}" != 1 ]; then continue; fi
    while read -r _ namespace name; do
      if [ -n "$name" ]; then let_go "$kind" "$namespace" "$name" || true; fi
    done < <(objects_of "$kind" 2>/dev/null)
  done
  if [ ${#left[@]} = 0 ]; then exit 0; fi
  sleep 1
done
echo "uninstall.sh: still there after two minutes: ${left[*]} (kubectl get … --all-namespaces tells what holds them)" >&2
exit 1
