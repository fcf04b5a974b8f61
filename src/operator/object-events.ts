/**
 * What people are told by Events: deprecated or overridden fields, verdicts that changed, errors. Each once, until it
 * changes.
 */
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import { eventTypeOf, type SyncReason, type VerdictReason } from '../contract/reasons/catalogue.ts'
import type { EventRecorder } from '../kube/events.ts'
import { keyOf } from '../kube/keys.ts'
import type { EventsState } from './events/cloud-events.ts'
import { eventsSaid, leftText, placesOf } from './status.ts'
import type { SyncResult } from './sync.ts'
import type { SyncError } from './sync-error.ts'
import type { Verdict } from './verdicts.ts'

export interface Notices {
  tell(config: OpenstackConfig, result: SyncResult | undefined, failure: SyncError | undefined): void
  warn(config: OpenstackConfig, reason: SyncReason, message: string): void
  forget(key: string): void
}

/** Of one sync so many verdicts become Events: the others are in the status and the inventory. */
const mostVerdicts = 20

export function createNotices(recorder: EventRecorder): Notices {
  const told = new Map<string, Set<string>>()

  /** Says what was not said before, and forgets what is no longer true, so that it is said again when it comes back. */
  function say(config: OpenstackConfig, about: string, now: readonly Notice[]): void {
    const key = `${keyOf(config)} ${about}`
    const before = told.get(key) ?? new Set()
    const all = new Set(now.map(({ reason, message }) => `${reason} ${message}`))
    for (const { reason, message } of now)
      if (!before.has(`${reason} ${message}`)) recorder.event(config, eventTypeOf(reason), reason, message)
    told.set(key, all)
  }

  return {
    tell(config, result, failure) {
      say(
        config,
        'fields',
        fieldNotices(config).map(message => ({ reason: 'FieldIgnored', message })),
      )
      say(config, 'failure', failure ? [{ reason: failure.reason, message: failure.message }] : [])
      if (!result) return
      const held = result.findings.heldRemovals.map((message): Notice => ({ reason: 'RemovalHeld', message }))
      const verdicts = result.findings.verdicts.filter(isNews).slice(0, mostVerdicts).map(noticeOf)
      const left = (placesOf(config.status ?? {}, result.findings).leftBehind ?? []).map(leftText)
      const leftNotices = left.map((message): Notice => ({ reason: 'NodesOrphaned', message }))
      const { events } = result.findings
      // A state that lasts a moment is no news.
      if (events?.is !== 'connecting') say(config, 'events', events ? [busNotice(events)] : [])
      say(config, 'findings', [...held, ...leftNotices, ...verdicts])
    },
    warn: (config, reason, message) => say(config, 'deletion', [{ reason, message }]),
    forget(key) {
      for (const about of ['fields', 'failure', 'findings', 'events', 'deletion']) told.delete(`${key} ${about}`)
    },
  }
}

interface Notice {
  reason: SyncReason | VerdictReason
  message: string
}

function busNotice({ is, message }: EventsState): Notice {
  return { reason: eventsSaid[is].reason, message }
}

/** Every VM has ports that were never meant for it, its first NIC among them. */
function isNews({ reason }: Verdict): boolean {
  return reason !== 'NoAddress'
}

function noticeOf({ portId, vm, reason, message }: Verdict): Notice {
  const subject = portId === undefined ? `VM ${vm}` : `port ${portId} of ${vm}`
  return { reason, message: `${subject}: ${message}` }
}

/** Fields that do not do what their presence suggests. */
export function fieldNotices({ spec }: OpenstackConfig): string[] {
  const { credentials, settings, subnetIDs = [], subnetID, subnetName } = spec
  const notices: string[] = []
  const ignored = [
    ...(subnetIDs.length > 0 && subnetID ? ['subnetID'] : []),
    ...((subnetIDs.length > 0 || subnetID) && subnetName ? ['subnetName'] : []),
  ]
  if (ignored.length > 0) notices.push(`${ignored.join(' and ')} ignored: another subnet field wins`)
  const old = (['dataPlatformDB', 'username', 'password', 'domainName', 'providerID'] as const).filter(
    name => credentials[name],
  )
  if (old.length > 0) notices.push(`credentials ${old.join(', ')} ignored: deprecated`)
  if (!credentials.k8sProviderID?.trim())
    notices.push('credentials.k8sProviderID is absent: openstackProviderID is sent to Viola instead')
  if (settings?.contrabassEncryptKey)
    notices.push('settings.contrabassEncryptKey is deprecated: name a Secret in spec.secrets instead')
  return notices
}
