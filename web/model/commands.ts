/**
 * kubectl commands to copy for actions that the API has no endpoint for, on the OpenstackConfig of a NIC. Pure.
 */
import type { openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import type { Nic } from './nodes.ts'

type Annotation = (typeof openstackConfigAnnotations)[keyof typeof openstackConfigAnnotations]

const forceReconcile: Annotation = 'multinic.io/force-reconcile'
const releaseRemovals: Annotation = 'multinic.io/release-removals'

/** Reconciles the OpenstackConfig at once. Undefined if the source is unknown. */
export const reconcileCommand = (source: string) => annotate(source, forceReconcile)

/** Retries a NIC, or approves its removal. Undefined for a NIC that needs neither. */
export function retryCommand({ severity, source }: Pick<Nic, 'severity' | 'source'>): string | undefined {
  if (severity === 'onHold') return annotate(source, releaseRemovals)
  return severity === 'failed' || severity === 'drifted' || severity === 'pending'
    ? reconcileCommand(source)
    : undefined
}

function annotate(source: string, annotation: Annotation): string | undefined {
  const [namespace, name, ...rest] = source.split('/')
  // People paste this into a shell: accept only valid Kubernetes names.
  if (rest.length > 0 || ![namespace, name].every(part => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(part ?? ''))) return
  return `kubectl -n ${namespace} annotate openstackconfig ${name} --overwrite ${annotation}="$(date +%s)"`
}
