/**
 * Printer columns of Nodes, Pods, Jobs and Events, as `kubectl get` shows them. Other built-in kinds have name and age.
 */
import { type ApiObject, isRecord, listOf, numberOf, recordOf, textOf, valueAt } from '../json.ts'
import { jsonPath } from './jsonpath.ts'
import type { Column } from './kinds.ts'

type Cell = Column['cell']

function column(name: string, cell: Cell | string, priority = 0): Column {
  const path = typeof cell === 'string' ? jsonPath(cell) : undefined
  return {
    ...{ name, type: 'string', priority, ...(name === 'Name' && { format: 'name' }) },
    cell: typeof cell === 'string' ? object => textOf(path?.(object)) || '<none>' : cell,
  }
}

const name = column('Name', '.metadata.name')
const age = column('Age', (object, now) => since(object.metadata.creationTimestamp, now))

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

function eventObject(event: ApiObject): string {
  const { kind, name } = recordOf(event['involvedObject'])
  return `${textOf(kind).toLowerCase()}/${textOf(name)}`
}

export const columns = {
  plain: [name, age] as const,
  nodes: [
    name,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    age,
    column('Version', '.status.nodeInfo.kubeletVersion'),
    column('Internal-IP', '.status.addresses[?(@.type=="InternalIP")].address', 1),
  ],
  pods: [
    name,
    column('Ready', podReady),
    column('Status', podStatus),
    column('Restarts', podRestarts),
    age,
    column('IP', '.status.podIP', 1),
    column('Node', '.spec.nodeName', 1),
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
  ],
  events: [
    column('Last Seen', (event, now) => since(textOf(event['lastTimestamp'] ?? event['eventTime']), now)),
    column('Type', '.type'),
    column('Reason', '.reason'),
    column('Object', eventObject),
    column('Message', event => textOf(event['message']).trim()),
    column('Name', '.metadata.name', 1),
  ],
} satisfies Record<string, readonly Column[]>
