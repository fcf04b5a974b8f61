/**
 * What a deletion that cannot remove its interfaces says: what remains, why, since when, until when, and the way out. Pure.
 */
import type { WireInterface } from '../../contract/interfaces.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { truncate } from '../../contract/truncate.ts'
import type { Verdict } from '../plan/verdicts.ts'
import { secondsOf } from './status.ts'

/** Interfaces of an object that are still on a node. */
export interface Remaining {
  nodeName: string
  instanceId: string
  interfaces: readonly { name: string; portId?: string }[]
}

/** Of a node config, from Viola or from a record. */
export interface NodeInterfaces {
  nodeName: string
  instanceId?: string | undefined
  interfaces: readonly Pick<WireInterface, 'name' | 'portId' | 'macAddress' | 'source'>[]
}

/** Undefined: unknown, because neither Viola nor a record answers. */
export type Remains = readonly Remaining[] | undefined

/** After this time the object is deleted although its interfaces remain. */
const giveUpAfterMs = 15 * 60_000

const maxNodes = 10
const [maxProblem, maxList] = [500, 600]

export function remainingOf(source: string, nodes: readonly NodeInterfaces[]): Remaining[] {
  return nodes.flatMap(({ nodeName, instanceId = '', interfaces }) => {
    const own = interfaces
      .filter(nic => nic.source === source)
      .map(({ name, portId, macAddress }) => ({ name: name ?? macAddress, ...(portId !== undefined && { portId }) }))
    return own.length > 0 ? [{ nodeName, instanceId, interfaces: own }] : []
  })
}

export function deadlineOf({ metadata }: OpenstackConfig): Date {
  return new Date(Date.parse(metadata.deletionTimestamp ?? '') + giveUpAfterMs)
}

/** For the condition and the Event. */
export function pendingText(config: OpenstackConfig, problem: string, remains: Remains): string {
  return [
    `${truncate(problem, maxProblem)}. On the nodes: ${remainsText(config, remains)}`,
    `Deleted at ${config.metadata.deletionTimestamp}; the operator retries until ${secondsOf(deadlineOf(config))}, then it deletes the object and the interfaces stay`,
    `To delete the object now and keep the interfaces: ${keepCommand(config)}`,
  ].join('. ')
}

export function verdictsPendingText(config: OpenstackConfig): string {
  return `the inventory does not delete the verdicts of the object. Deleted at ${config.metadata.deletionTimestamp}; the operator retries until ${secondsOf(deadlineOf(config))}, then it deletes the object`
}

export function gaveUpText(config: OpenstackConfig, problem: string, remains: Remains): string {
  return `gave up, the interfaces stay on the nodes: ${remainsText(config, remains)}: ${truncate(problem, maxProblem)}`
}

function remainsText({ status }: OpenstackConfig, remains: Remains): string {
  if (!remains) {
    const { total } = status?.nodes ?? {}
    return total === undefined ? 'not known' : `interfaces on ${total} node${total === 1 ? '' : 's'}`
  }
  if (remains.length === 0) return 'no interface is known'
  const nodes = remains.map(({ nodeName, interfaces }) => `${nodeName} ${interfaces.map(nic => nic.name).join(', ')}`)
  const more = nodes.length > maxNodes ? `; and ${nodes.length - maxNodes} more nodes` : ''
  return `${truncate(nodes.slice(0, maxNodes).join('; '), maxList)}${more}`
}

function keepCommand({ metadata: { name, namespace = 'default' } }: OpenstackConfig): string {
  return `kubectl -n ${namespace} patch osc ${name} --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`
}

/** Verdicts of the ports that remain: `multinic why` shows them for a port, a VM and a node. */
export function pendingVerdicts(remains: readonly Remaining[], message: string): Verdict[] {
  return remains.flatMap(({ instanceId: vm, interfaces }) =>
    interfaces.map(({ name, portId }): Verdict => {
      const port = portId !== undefined && { portId }
      return { ...port, vm, name, reason: 'RemovalPending', message }
    }),
  )
}
