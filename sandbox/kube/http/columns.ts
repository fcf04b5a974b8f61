/**
 * Printer columns of the built-in kinds, as `kubectl get` shows them.
 */
import { type ApiObject, isRecord, listOf, numberOf, recordOf, textOf, valueAt } from '../json.ts'
import type { Column } from '../kinds/kinds.ts'

type Cell = Column['cell']

function column(name: string, cell: Cell, priority = 0, type = 'string'): Column {
  return { name, type, priority, cell, ...(name === 'Name' && { format: 'name' }) }
}

const at =
  (...path: string[]): Cell =>
  object =>
    textOf(valueAt(object, ...path)) || '<none>'

const nodeInfo =
  (name: string, otherwise = '<unknown>'): Cell =>
  node =>
    textOf(valueAt(node, 'status', 'nodeInfo', name)) || otherwise

const name = column('Name', object => object.metadata.name)
const age = column('Age', (object, now) => since(object.metadata.creationTimestamp, now))
const createdAt = column('Created At', object => object.metadata.creationTimestamp ?? '<unknown>', 0, 'date')

/** Time since then, in the format of kubectl. */
export function since(time: string | undefined, now: Date): string {
  const from = Date.parse(time ?? '')
  return Number.isNaN(from) ? '<unknown>' : duration(now.getTime() - from)
}

export function duration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return two(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  return days < 2920 ? two(Math.floor(days / 365), 'y', days % 365, 'd') : `${Math.floor(days / 365)}y`
}

function two(first: number, a: string, second: number, b: string): string {
  return second === 0 ? `${first}${a}` : `${first}${a}${second}${b}`
}

function nodeStatus(node: ApiObject): string {
  const ready = listOf(valueAt(node, 'status', 'conditions')).find(one => recordOf(one)['type'] === 'Ready')
  const status = recordOf(ready)['status']
  const states = [status === 'True' ? 'Ready' : ready ? 'NotReady' : 'Unknown']
  if (valueAt(node, 'spec', 'unschedulable') === true) states.push('SchedulingDisabled')
  return states.join(',')
}

function nodeRoles(node: ApiObject): string {
  const roles = Object.keys(node.metadata.labels ?? {})
    .map(label => /^node-role\.kubernetes\.io\/(.+)$/.exec(label)?.[1])
    .filter(role => role !== undefined)
  return roles.sort().join(',') || '<none>'
}

const nodeAddress =
  (type: string): Cell =>
  node => {
    const found = listOf(valueAt(node, 'status', 'addresses')).find(one => recordOf(one)['type'] === type)
    return textOf(recordOf(found)['address']) || '<none>'
  }

const containerStatuses = (pod: ApiObject) => listOf(valueAt(pod, 'status', 'containerStatuses')).map(recordOf)

function podReady(pod: ApiObject): string {
  const ready = containerStatuses(pod).filter(one => one['ready'] === true).length
  return `${ready}/${listOf(valueAt(pod, 'spec', 'containers')).length}`
}

function podStatus(pod: ApiObject): string {
  const status = recordOf(pod['status'])
  let shown = textOf(status['reason']) || textOf(status['phase']) || 'Unknown'
  for (const container of containerStatuses(pod).reverse()) {
    const { waiting, terminated } = recordOf(container['state'])
    const reason = textOf(recordOf(waiting)['reason']) || textOf(recordOf(terminated)['reason'])
    if (reason) shown = reason
    else if (isRecord(terminated)) shown = `ExitCode:${numberOf(terminated['exitCode'])}`
  }
  return pod.metadata.deletionTimestamp && !['Succeeded', 'Failed'].includes(textOf(status['phase']))
    ? 'Terminating'
    : shown
}

function podRestarts(pod: ApiObject, now: Date): string {
  const containers = containerStatuses(pod)
  const restarts = containers.reduce((sum, one) => sum + numberOf(one['restartCount']), 0)
  const ends = containers.map(one => textOf(valueAt(one, 'lastState', 'terminated', 'finishedAt'))).sort()
  const last = ends.at(-1)
  return restarts > 0 && last ? `${restarts} (${since(last, now)} ago)` : String(restarts)
}

function jobStatus(job: ApiObject): string {
  const conditions = listOf(valueAt(job, 'status', 'conditions')).map(recordOf)
  const holds = (type: string) => conditions.some(one => one['type'] === type && one['status'] === 'True')
  if (holds('Complete')) return 'Complete'
  if (holds('Failed')) return 'Failed'
  if (job.metadata.deletionTimestamp) return 'Terminating'
  if (holds('Suspended')) return 'Suspended'
  if (holds('FailureTarget')) return 'FailureTarget'
  return holds('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running'
}

function jobDuration(job: ApiObject, now: Date): string {
  const { startTime, completionTime } = recordOf(job['status'])
  if (!startTime) return ''
  return since(textOf(startTime), completionTime ? new Date(textOf(completionTime)) : now)
}

const jobContainers = (job: ApiObject) => listOf(valueAt(job, 'spec', 'template', 'spec', 'containers')).map(recordOf)

function selectorOf(job: ApiObject): string {
  const labels = Object.entries(recordOf(valueAt(job, 'spec', 'selector', 'matchLabels')))
  return labels.map(([key, value]) => `${key}=${String(value)}`).join(',') || '<none>'
}

function eventTime(event: ApiObject, ...fields: string[]): string {
  const found = fields.map(field => textOf(event[field])).find(time => time !== '')
  return found ?? event.metadata.creationTimestamp ?? ''
}

function eventObject(event: ApiObject): string {
  const { kind, name } = recordOf(event['involvedObject'])
  return `${textOf(kind).toLowerCase()}/${textOf(name)}`
}

const subjects =
  (kind: string): Cell =>
  binding =>
    listOf(binding['subjects'])
      .map(recordOf)
      .filter(subject => subject['kind'] === kind)
      .map(({ namespace, name }) => (kind === 'ServiceAccount' ? `${textOf(namespace)}/${textOf(name)}` : textOf(name)))
      .join(', ')

function roleOf(binding: ApiObject): string {
  const { kind, name } = recordOf(binding['roleRef'])
  return `${textOf(kind)}/${textOf(name)}`
}

const count = (value: unknown) => Object.keys(recordOf(value)).length

export const columns = {
  plain: [name, age],
  namespaces: [name, column('Status', at('status', 'phase')), age],
  nodes: [
    name,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    age,
    column('Version', nodeInfo('kubeletVersion', '')),
    column('Internal-IP', nodeAddress('InternalIP'), 1),
    column('External-IP', nodeAddress('ExternalIP'), 1),
    column('OS-Image', nodeInfo('osImage'), 1),
    column('Kernel-Version', nodeInfo('kernelVersion'), 1),
    column('Container-Runtime', nodeInfo('containerRuntimeVersion'), 1),
  ],
  pods: [
    name,
    column('Ready', podReady),
    column('Status', podStatus),
    column('Restarts', podRestarts),
    age,
    column('IP', at('status', 'podIP'), 1),
    column('Node', at('spec', 'nodeName'), 1),
    column('Nominated Node', at('status', 'nominatedNodeName'), 1),
    column('Readiness Gates', () => '<none>', 1),
  ],
  jobs: [
    name,
    column('Status', jobStatus),
    column(
      'Completions',
      job => `${numberOf(valueAt(job, 'status', 'succeeded'))}/${numberOf(valueAt(job, 'spec', 'completions'), 1)}`,
    ),
    column('Duration', jobDuration),
    age,
    column(
      'Containers',
      job =>
        jobContainers(job)
          .map(one => textOf(one['name']))
          .join(','),
      1,
    ),
    column(
      'Images',
      job =>
        jobContainers(job)
          .map(one => textOf(one['image']))
          .join(','),
      1,
    ),
    column('Selector', selectorOf, 1),
  ],
  secrets: [name, column('Type', at('type')), column('Data', object => count(object['data'])), age],
  configMaps: [name, column('Data', object => count(object['data']) + count(object['binaryData'])), age],
  leases: [name, column('Holder', object => textOf(valueAt(object, 'spec', 'holderIdentity'))), age],
  events: [
    column('Last Seen', (event, now) => since(eventTime(event, 'lastTimestamp', 'eventTime'), now)),
    column('Type', at('type')),
    column('Reason', at('reason')),
    column('Object', eventObject),
    column('Subobject', event => textOf(valueAt(event, 'involvedObject', 'fieldPath')), 1),
    column('Source', event => textOf(valueAt(event, 'source', 'component')), 1),
    column('Message', event => textOf(event['message']).trim()),
    column('First Seen', (event, now) => since(eventTime(event, 'firstTimestamp', 'eventTime'), now), 1),
    column('Count', event => numberOf(event['count'], 1), 1, 'integer'),
    column('Name', event => event.metadata.name, 1),
  ],
  definitions: [name, createdAt],
  roles: [name, createdAt],
  bindings: [
    name,
    column('Role', roleOf),
    age,
    column('Users', subjects('User'), 1),
    column('Groups', subjects('Group'), 1),
    column('ServiceAccounts', subjects('ServiceAccount'), 1),
  ],
} satisfies Record<string, readonly Column[]>
