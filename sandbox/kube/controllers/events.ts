/**
 * Events of the built-in controllers.
 */
import type { ApiObject } from '../json.ts'
import type { Kinds } from '../kinds/kinds.ts'
import { timestamp } from '../objects/metadata.ts'
import { targetFor } from '../objects/target.ts'
import type { Verbs } from '../objects/verbs.ts'

export interface EventInput {
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  component: string
}

export function recordEvent(
  { kinds, verbs, now }: { kinds: Kinds; verbs: Verbs; now: () => Date },
  about: ApiObject,
  { type, reason, message, component }: EventInput,
): void {
  const { name, namespace, uid, resourceVersion } = about.metadata
  const time = timestamp(now())
  verbs.create(
    targetFor(kinds, '/events', { namespace: namespace ?? 'default', name: '' }),
    {
      metadata: { generateName: `${name}.` },
      involvedObject: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: time,
      lastTimestamp: time,
      source: { component },
      reportingComponent: component,
    },
    { manager: 'kube-controller-manager' },
  )
}
