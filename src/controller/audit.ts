/**
 * Audit facts of requests by annotation: who asked for a retry or a check of a node. Pure.
 */
import { auditName, requestedByAnnotation } from '../contract/audit.ts'
import { type NodeConfig, nodeConfigAnnotations } from '../contract/node-config.ts'
import type { Facts } from '../telemetry/log.ts'

/** The caller is who the CLI says it acts for: the API server tells the controller no user. */
export function requestsIn({ metadata, spec }: NodeConfig): Facts[] {
  const { annotations = {} } = metadata
  const caller = auditName(annotations[requestedByAnnotation] ?? '')
  return (['retry', 'check'] as const)
    .filter(name => annotations[nodeConfigAnnotations[name]] !== undefined)
    .map(name => ({
      ...{ action: `node-config.${name}`, object: spec.nodeName, caller, proof: caller ? 'claimed' : 'unknown' },
      ...{ source: 'annotation', outcome: 'accepted' },
    }))
}
