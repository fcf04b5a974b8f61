/**
 * kubectl commands to copy for actions that the API has no endpoint for. Pure.
 *
 * An OpenstackConfig is in the management cluster. A node config is in the cluster of its provider: the command names the context
 * after the provider, so that it fails in any other cluster instead of changing a node of the same name.
 */
import type { nodeConfigAnnotations } from '../../src/contract/node-config.ts'
import type { openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import type { Nic, Node } from './nodes.ts'

type Annotation<T> = T[keyof T]

const forceReconcile: Annotation<typeof openstackConfigAnnotations> = 'multinic.io/force-reconcile'
const approveRemovals: Annotation<typeof openstackConfigAnnotations> = 'multinic.io/approve-removals'
const retry: Annotation<typeof nodeConfigAnnotations> = 'multinic.io/retry'
const check: Annotation<typeof nodeConfigAnnotations> = 'multinic.io/check'

/** Where Viola stores node configs, unless TARGET_NAMESPACE says otherwise. */
const nodeConfigNamespace = 'multinic-system'

/** Reconciles the OpenstackConfig at once. Undefined if the source is unknown. */
export const reconcileCommand = (source: string) => annotateSource(source, forceReconcile)

/** Runs a check of the node at once. */
export const checkCommand = (node: NodeRef) => annotateNode(node, `${check}=now`)

/** Applies a NIC again, or approves its removal. Undefined for a NIC that needs neither. */
export function retryCommand(
  node: NodeRef,
  { severity, source, name }: Pick<Nic, 'severity' | 'source' | 'name'>,
): string | undefined {
  if (severity === 'onHold') return annotateSource(source, approveRemovals)
  return severity === 'failed' || severity === 'drifted' || severity === 'pending'
    ? annotateNode(node, `${retry}=${name}`)
    : undefined
}

type NodeRef = Pick<Node, 'providerId' | 'nodeName'>

function annotateNode({ providerId, nodeName }: NodeRef, annotation: string): string | undefined {
  if (!isSafe(providerId) || !isName(nodeName)) return undefined
  return `kubectl --context ${providerId} -n ${nodeConfigNamespace} annotate mnnc ${nodeName} --overwrite ${annotation}`
}

function annotateSource(source: string, annotation: string): string | undefined {
  const [namespace = '', name = '', ...rest] = source.split('/')
  if (rest.length > 0 || !isName(namespace) || !isName(name)) return undefined
  return `kubectl -n ${namespace} annotate openstackconfig ${name} --overwrite ${annotation}="$(date +%s)"`
}

/** People paste this into a shell: accept only valid Kubernetes names, and provider IDs without special characters. */
const isName = (text: string) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text)
const isSafe = (text: string) => /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text)
