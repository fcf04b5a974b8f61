/**
 * The Kubernetes Events of an OpenstackConfig: ignored fields, changed verdicts, errors. Each Event is recorded once, and
 * again only after it was no longer true.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { verdictKind } from '../../contract/operator-api.ts'
import { eventTypeOf, type SyncReason, type VerdictReason } from '../../contract/reasons/catalogue.ts'
import type { EventRecorder } from '../../kube/events.ts'
import { keyOf } from '../../kube/keys.ts'
import { createObjectMemory, type ObjectMemory } from '../../runtime/object-memory.ts'
import { subjectOf, type Verdict } from '../plan/verdicts.ts'
import type { Findings } from '../record/sync-outcome.ts'
import { busConditions, onHoldText, renumberConditions } from '../status/conditions.ts'
import { orphanedTexts } from '../status/targets.ts'
import type { SyncError } from '../sync-error.ts'
import type { SyncResult } from './sync.ts'

export interface ObjectEvents {
  record(config: OpenstackConfig, result: SyncResult | undefined, failure: SyncError | undefined): void
  warn(config: OpenstackConfig, reason: SyncReason, message: string): void
}

interface ObjectEvent {
  reason: SyncReason | VerdictReason
  message: string
}

/** At most this number of verdicts of one sync become Events. The status and the inventory have the others. */
const maxVerdicts = 20

export function createObjectEvents(recorder: EventRecorder, memory: ObjectMemory = createObjectMemory()): ObjectEvents {
  const recorded = {
    fields: memory.slot<ReadonlySet<string>>(),
    failure: memory.slot<ReadonlySet<string>>(),
    findings: memory.slot<ReadonlySet<string>>(),
    bus: memory.slot<ReadonlySet<string>>(),
    deletion: memory.slot<ReadonlySet<string>>(),
  }

  /** Records what is new, and forgets what is no longer true so that it is recorded again when it returns. */
  function update(config: OpenstackConfig, topic: keyof typeof recorded, events: readonly ObjectEvent[]): void {
    const key = keyOf(config)
    const before = recorded[topic].get(key) ?? new Set()
    for (const { reason, message } of events)
      if (!before.has(`${reason} ${message}`)) recorder.event(config, eventTypeOf(reason), reason, message)
    recorded[topic].set(key, new Set(events.map(({ reason, message }) => `${reason} ${message}`)))
  }

  return {
    record(config, result, failure) {
      const fields = ignoredFields(config).map((message): ObjectEvent => ({ reason: 'FieldIgnored', message }))
      update(config, 'fields', fields)
      update(config, 'failure', failure ? [{ reason: failure.reason, message: failure.message }] : [])
      if (!result) return
      const { events, removalsOnHold, renumber, verdicts } = result.findings
      // Connecting lasts only a moment.
      if (events?.state !== 'connecting')
        update(config, 'bus', events ? [{ reason: busConditions[events.state].reason, message: events.message }] : [])
      update(config, 'findings', [
        ...(removalsOnHold.length > 0 ? [onHoldEvent(result.findings)] : []),
        ...orphanedTexts(config.status ?? {}, result.findings).map(
          (message): ObjectEvent => ({ reason: 'NodesOrphaned', message }),
        ),
        ...(renumber ? [{ reason: renumberConditions[renumber.state].reason, message: renumber.message ?? '' }] : []),
        ...verdicts.filter(isReported).slice(0, maxVerdicts).map(verdictEvent),
      ])
    },
    warn: (config, reason, message) => update(config, 'deletion', [{ reason, message }]),
  }
}

function onHoldEvent(findings: Findings): ObjectEvent {
  return { reason: 'RemovalHeld', message: onHoldText(findings) }
}

/** Every VM has a primary port, and many have ports in other subnets on purpose. */
function isReported({ reason }: Verdict): boolean {
  return verdictKind(reason) !== 'notManaged'
}

function verdictEvent(verdict: Verdict): ObjectEvent {
  const { portId, reason, message } = verdict
  return { reason, message: `${portId === undefined ? 'VM ' : ''}${subjectOf(verdict)}: ${message}` }
}

/** Fields without the effect that a reader would expect. */
export function ignoredFields({ spec }: OpenstackConfig): string[] {
  const { credentials = {}, settings, subnetIDs = [], subnetID, subnetName } = spec
  const messages: string[] = []
  const ignored = [
    ...(subnetIDs.length > 0 && subnetID ? ['subnetID'] : []),
    ...((subnetIDs.length > 0 || subnetID) && subnetName ? ['subnetName'] : []),
  ]
  if (ignored.length > 0) messages.push(`${ignored.join(' and ')} ignored: another subnet field takes precedence`)
  const deprecated = (['dataPlatformDB', 'username', 'password', 'domainName', 'providerID'] as const).filter(
    name => credentials[name],
  )
  if (deprecated.length > 0) messages.push(`credentials ${deprecated.join(', ')} ignored: deprecated`)
  if (credentials.openstackProviderID && !credentials.k8sProviderID?.trim())
    messages.push('credentials.k8sProviderID is not set: the operator sends openstackProviderID to Viola instead')
  if (settings?.contrabassEncryptKey)
    messages.push('settings.contrabassEncryptKey is deprecated: name a Secret in spec.secrets instead')
  return messages
}
