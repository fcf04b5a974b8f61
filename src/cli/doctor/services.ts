/**
 * Checks of `multinic doctor`: the services that the operator uses, as it has reported them in its OpenstackConfigs. The doctor
 * needs no credentials of a cloud, and tests exactly what the operator uses. Pure.
 */
import type { ConditionStatus } from '../../contract/node-config.ts'
import { readyOf } from '../../contract/object.ts'
import { type OpenstackConfig, openstackConfigFinalizer } from '../../contract/openstack-config.ts'
import { reasonText } from '../../contract/reasons/catalogue.ts'
import { because } from '../render/reason.ts'
import { bad, type Finding, ok, some, warn } from './finding.ts'

/** In the order in which a sync calls them. */
const services: readonly (readonly [name: string, errors: RegExp])[] = [
  ['Contrabass', /^Contrabass/],
  ['Keystone', /^Keystone/],
  ['Neutron', /^Neutron/],
  ['Nova', /^Nova/],
  ['Viola', /^(Viola|ProviderUnknown)/],
]

/** A sync may be late: it waits for its turn. */
const maxLateMs = 5 * 60_000
const checkOperator = 'check that the operator runs and is the leader'

export function aboutSources(sources: readonly OpenstackConfig[] | undefined, now: Date): Finding[] {
  return (sources ?? []).flatMap(source => {
    const name = `OpenstackConfig ${source.metadata.namespace}/${source.metadata.name}`
    if (source.metadata.deletionTimestamp) return [aboutDeletion(source, name)]
    return [...aboutSync(source, name, now), ...aboutCloud(source, name), ...aboutBus(source, name)]
  })
}

function aboutDeletion({ metadata, status }: OpenstackConfig, name: string): Finding {
  const pending = conditionOf(status, 'RemovalPending', 'True')
  const { finalizers = [], deletionTimestamp } = metadata
  const what = `${name} is being deleted since ${deletionTimestamp}`
  const isOurs = finalizers.includes(openstackConfigFinalizer)
  if (pending && isOurs) return bad(`${what}: ${pending.message}`, remedyOf('RemovalPending'))
  if (isOurs) return warn(what, checkOperator)
  return warn(
    `${what}: MultiNIC is done, and these finalizers are left: ${some(finalizers)}`,
    'check the programs that own these finalizers',
  )
}

/** An error of Viola does not hide that of the account. */
function aboutCloud({ status }: OpenstackConfig, name: string): Finding[] {
  const failed = conditionOf(status, 'CloudReady', 'False')
  const { reason = '', message = '' } = failed ?? {}
  if (!failed || reason === readyOf({ status })?.reason) return []
  return [bad(`${name}: ${reason}: ${message}`, remedyOf(reason))]
}

function conditionOf(status: OpenstackConfig['status'], type: string, is: ConditionStatus['status']) {
  return status?.conditions?.find(one => one.type === type && one.status === is)
}

/** Undefined for a reason that has none. */
function remedyOf(reason: string): string | undefined {
  return reasonText(reason)?.remedy || undefined
}

function aboutSync({ status }: OpenstackConfig, name: string, now: Date): Finding[] {
  const ready = readyOf({ status })
  if (!ready) return [warn(`${name} has not been synced yet`, 'check that the operator runs')]
  const { lastSyncedAt = 'the beginning', nextSyncAt = '' } = status ?? {}
  const isLate = now.getTime() - Date.parse(nextSyncAt) > maxLateMs
  const lateText = `${name} has not been synced since ${lastSyncedAt}: the next sync was due ${nextSyncAt}`
  const late = isLate ? [bad(lateText, checkOperator)] : []
  const degraded = conditionOf(status, 'Degraded', 'True')
  // A sync succeeds although Viola refused single nodes.
  const failed = ready.status === 'True' ? degraded?.reason?.startsWith('Viola') && degraded : ready
  if (failed) return [...late, failure(failed, name, lastSyncedAt)]
  if (late.length > 0) return late
  const named = services.map(([service]) => service)
  return [ok(`${name}: ${named.slice(0, -1).join(', ')} and ${named.at(-1)} answered at ${lastSyncedAt}`)]
}

function failure(condition: ConditionStatus, name: string, lastSyncedAt: string): Finding {
  const { reason = '' } = condition
  const at = services.findIndex(([, errors]) => errors.test(reason))
  const [service] = services[at] ?? []
  const unreached = at < 0 ? [] : services.slice(at + 1).map(([other]) => other)
  const remedies = [
    remedyOf(reason) ?? '',
    unreached.length > 0 ? `not reached since ${lastSyncedAt}: ${unreached.join(', ')}` : '',
  ].filter(Boolean)
  return bad(`${service ? `${service} (${name})` : name}: ${because(condition)}`, remedies.join(' ') || undefined)
}

function aboutBus({ status }: OpenstackConfig, name: string): Finding[] {
  const events = status?.conditions?.find(({ type }) => type === 'EventsConnected')
  if (!events || events.status === 'Unknown') return []
  if (events.status === 'True') return [ok(`message bus (${name}) is connected`)]
  return [bad(`message bus (${name}): ${because(events)}`, remedyOf(events.reason ?? ''))]
}
