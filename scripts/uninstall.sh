#!/usr/bin/env bash
# Removes our CustomResourceDefinitions from the cluster of your kubeconfig. Refuses while objects of them exist: deleting
# a definition deletes its objects, and with them what the nodes are to have.
#
#   uninstall.sh           refuses while objects exist
#   FORCE=1 uninstall.sh   lets the objects go without their clean-up: NICs stay as they are
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kubectl=${KUBECTL:-kubectl}
kinds=(openstackconfigs.multinic.example.com multinicnodeconfigs.multinic.io multinicbizconfigs.multinic.io)

served=()
for kind in "${kinds[@]}"; do
  if "$kubectl" get customresourcedefinition "$kind" --ignore-not-found -o name | grep -q .; then served+=("$kind"); fi
done
if [ ${#served[@]} = 0 ]; then echo "nothing to remove: our CRDs are not in this cluster"; exit 0; fi

objects=()
for kind in "${served[@]}"; do
  while read -r namespace name; do
    if [ -n "$name" ]; then objects+=("$kind $namespace $name"); fi
  done < <("$kubectl" get "$kind" --all-namespaces -o 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{"\n"}{end}')
done

if [ ${#objects[@]} -gt 0 ] && [ "${FORCE:-}" != 1 ]; then
  {
    echo "refused: ${#objects[@]} objects exist, and would be deleted with their definitions:"
    printf '  %s\n' "${objects[@]:0:20}"
    echo "Delete them first, so that the nodes are cleaned up (kubectl delete …), or run it with FORCE=1: then the NICs stay as they are."
  } >&2
  exit 1
fi

for object in "${objects[@]}"; do
  read -r kind namespace name <<<"$object"
  "$kubectl" patch "$kind" "$name" --namespace "$namespace" --type merge --patch '{"metadata":{"finalizers":null}}' >/dev/null
done
"$kubectl" delete --kustomize "$here/../config/crd" --ignore-not-found
