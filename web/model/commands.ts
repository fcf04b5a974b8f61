/**
 * Commands to copy for what the API has no write for: the words of kubectl, on the object that a NIC comes from. Pure.
 */
import type { openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import type { Nic } from './nodes.ts'

type Annotation = (typeof openstackConfigAnnotations)[keyof typeof openstackConfigAnnotations]

const forceReconcile: Annotation = 'multinic.io/force-reconcile'
const releaseRemovals: Annotation = 'multinic.io/release-removals'

/** Looks at the object again at once. Undefined where nobody knows which object it is. */
export const checkNow = (source: string) => annotate(source, forceReconcile)

/** What sets a NIC going again that does not go by itself. */
export function againOf({ look, source }: Pick<Nic, 'look' | 'source'>): string | undefined {
  if (look === 'held') return annotate(source, releaseRemovals)
  return look === 'bad' || look === 'drift' || look === 'pend' ? checkNow(source) : undefined
}

function annotate(source: string, annotation: Annotation): string | undefined {
  const [namespace, name, ...more] = source.split('/')
  // Pasted into a shell: only what Kubernetes itself would take for a name.
  if (more.length > 0 || ![namespace, name].every(part => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(part ?? ''))) return
  return `kubectl -n ${namespace} annotate openstackconfig ${name} --overwrite ${annotation}="$(date +%s)"`
}
