/**
 * Audit entries of one sync of an OpenstackConfig: who created or changed it, approved removals, asked for a renumbering, or
 * edited one of its node configs by hand.
 *
 * The API server keeps no user names. An entry has the name that the CLI wrote beside an annotation, else the program that
 * wrote the field, and says which of both it is.
 */
import { type AuditWrite, auditName, requestedByAnnotation } from '../../contract/audit.ts'
import { type OpenstackConfig, openstackConfigAnnotations, providerIdOf } from '../../contract/openstack-config.ts'
import type { FieldManager } from '../../kube/field-managers.ts'
import { keyOf } from '../../kube/keys.ts'
import { isNewObject, removalApprovalOf } from '../observe/inspect.ts'
import type { SyncResult } from './sync.ts'

type Asked = Pick<AuditWrite, 'action' | 'source' | 'outcome'> & { annotation?: string }
type Caller = Pick<AuditWrite, 'caller' | 'proof'>

/** `config` is from before the sync. The field managers are only read if somebody asked for something. */
export async function auditOf(
  config: OpenstackConfig,
  result: SyncResult | undefined,
  options: { at: string; failure: string | undefined; managers: () => Promise<readonly FieldManager[]> },
): Promise<AuditWrite[]> {
  const { at, failure, managers } = options
  const providerId = providerIdOf(config)
  const asked = askedIn(config, result, failure)
  const known = asked.length > 0 ? await managers() : []
  const object = auditName(keyOf(config), 507)
  return [
    ...asked.map(({ annotation, ...one }) => ({
      ...{ at, ...one, object, providerId },
      ...(annotation === undefined ? writerOf(known) : requesterOf(config, annotation, known)),
    })),
    ...editsIn(result).map(({ nodeName, editedBy }): AuditWrite => {
      const by = { caller: auditName(editedBy), proof: 'fieldManager', source: 'node-config' } as const
      return { at, action: 'node-config.edit', object: nodeName, providerId, ...by, outcome: 'overwritten' }
    }),
  ]
}

export function auditOfDeletion(config: OpenstackConfig, at: string, areKept: boolean): AuditWrite {
  return {
    ...{ at, action: 'config.delete', object: auditName(keyOf(config), 507), providerId: providerIdOf(config) },
    ...{ caller: '', proof: 'unknown', source: 'object' },
    outcome: areKept ? 'interfaces kept' : 'interfaces removed',
  }
}

function askedIn(config: OpenstackConfig, result: SyncResult | undefined, failure: string | undefined): Asked[] {
  const { metadata, status } = config
  const { approveRemovals, renumber } = openstackConfigAnnotations
  const asked: Asked[] = []
  if (status?.observedGeneration !== metadata.generation) {
    const action = status?.observedGeneration === undefined ? 'config.create' : 'config.change'
    asked.push({ action, source: 'object', outcome: auditName(failure ?? 'synced', 64) })
  }
  const approval = removalApprovalOf(config)
  if (result && approval !== undefined && approval !== status?.approvedRemovals) {
    const outcome = isNewObject(config) ? 'ignored: the object is new' : 'applied'
    asked.push({ action: 'removals.approve', source: 'annotation', outcome, annotation: approveRemovals })
  }
  const request = result?.findings.renumber
  if (request && request.request !== status?.renumber?.request)
    asked.push({ action: 'renumber.request', source: 'annotation', outcome: request.state, annotation: renumber })
  return asked
}

/** The program that changed the spec last. */
function writerOf(managers: readonly FieldManager[]): Caller {
  return newest(managers.filter(({ ownsSpec }) => ownsSpec))
}

/** A claim counts only if it was written together with the annotation: a later request is another one. */
function requesterOf({ metadata }: OpenstackConfig, annotation: string, managers: readonly FieldManager[]): Caller {
  const owners = managers.filter(({ annotations }) => annotations.has(annotation))
  const claim = metadata.annotations?.[requestedByAnnotation]
  if (claim && owners.some(({ annotations }) => annotations.has(requestedByAnnotation)))
    return { caller: auditName(claim), proof: 'claimed' }
  return newest(owners)
}

function newest(managers: readonly FieldManager[]): Caller {
  const [last] = managers.toSorted((a, b) => (a.time < b.time ? 1 : -1))
  return last ? { caller: auditName(last.name), proof: 'fieldManager' } : { caller: '', proof: 'unknown' }
}

/** Nodes that were delivered again because somebody had edited them. */
function editsIn(result: SyncResult | undefined): { nodeName: string; editedBy: string }[] {
  if (!result) return []
  const delivered = new Set(result.delivered)
  return result.inspection.observed.delivered.flatMap(({ nodeName, editedBy }) =>
    editedBy !== undefined && delivered.has(nodeName) ? [{ nodeName, editedBy }] : [],
  )
}
