/**
 * What the inventory is told: the newest truth about a node, and only when it differs from what it was told last.
 */
import { createHash } from 'node:crypto'
import { type Interface, toWireInterface } from '../contract/interfaces.ts'
import type { InventoryWrite, Stage } from '../contract/inventory.ts'
import type { InterfaceStatus } from '../contract/node-config.ts'
import type { Log } from '../telemetry/log.ts'
import { type HeldNode, identityOf } from './observed-state.ts'
import { stateOf } from './status.ts'

export interface Recorder {
  put(writes: InventoryWrite[]): Promise<void>
}

type Stages = Partial<Record<Stage, string>>

export interface Records {
  /** A port was found that is not delivered yet. */
  saw(providerId: string, portId: string): void
  /** Viola took them; `stored` when it also tells that the cluster holds them now. */
  delivered(providerId: string, nics: readonly Interface[], stored: boolean): void
  /** The node as the cluster holds it now. */
  note(providerId: string, node: HeldNode, why: string): void
  /** The node is being emptied. */
  noteRemoving(providerId: string, node: Pick<HeldNode, 'nodeName' | 'instanceId'>, why: string): void
  /** The node has nothing of ours any more. */
  noteGone(providerId: string, node: Pick<HeldNode, 'nodeName' | 'instanceId'>, why: string): void
  /** Hands over what was noted and differs. A recorder that is away is tried again with the next sync. */
  flush(log: Log): Promise<void>
}

/** Times of more ports than this are forgotten, the oldest first; the inventory keeps its own. */
const mostStages = 100_000

export function createRecords(recorder: Recorder | undefined, now: () => Date): Records {
  const stages = new Map<string, Stages>()
  const stamp = stampsOf(now)
  const told = new Map<string, string>()
  /** The very objects that were looked at last: an unchanged cluster gives the same ones. */
  const looked = new Map<string, HeldNode>()
  let noted = new Map<string, { write: InventoryWrite; mark: string }>()

  const stageOf = (providerId: string, id: string, stage: Stage) => {
    const key = `${providerId} ${id}`
    const known = stages.get(key)
    if (known?.[stage] !== undefined) return
    stages.set(key, { ...known, [stage]: stamp() })
    if (stages.size <= mostStages) return
    const [oldest] = stages.keys()
    if (oldest !== undefined) stages.delete(oldest)
  }
  const note = (write: InventoryWrite) => {
    const key = `${write.providerId} ${write.nodeName}`
    if (write.reason === 'Removing' || write.removed) looked.delete(key)
    const mark = markOf(write)
    if (told.get(key) !== mark) noted.set(key, { write, mark })
    else noted.delete(key)
  }
  const emptied = (providerId: string, { nodeName, instanceId = '' }: Pick<HeldNode, 'nodeName' | 'instanceId'>) => ({
    providerId,
    nodeName,
    instanceId,
    config: { nodeName, ...(instanceId !== '' && { instanceId }), interfaces: [] },
    lastConfigHash: '',
  })

  return {
    saw: (providerId, portId) => stageOf(providerId, portId, 'seen'),
    delivered: (providerId, nics, stored) => {
      for (const nic of nics) {
        stageOf(providerId, identityOf(nic), 'delivered')
        if (stored) stageOf(providerId, identityOf(nic), 'cr')
      }
    },
    note(providerId, node, why) {
      const key = `${providerId} ${node.nodeName}`
      if (looked.get(key) === node && !noted.has(key)) return
      looked.set(key, node)
      if (isAtWork(node))
        for (const nic of node.interfaces)
          if (stages.get(`${providerId} ${identityOf(nic)}`)?.cr) stageOf(providerId, identityOf(nic), 'job')
      note(recordOf(providerId, node, nic => stages.get(`${providerId} ${identityOf(nic)}`), why))
    },
    noteRemoving(providerId, node, why) {
      note({ ...emptied(providerId, node), state: 'Pending', reason: 'Removing', why })
    },
    noteGone(providerId, node, why) {
      note({ ...emptied(providerId, node), removed: true, why })
    },
    async flush(log) {
      if (noted.size === 0 || !recorder) return
      const writes = noted
      noted = new Map()
      try {
        await recorder.put([...writes.values()].map(({ write }) => write))
        for (const [key, { mark }] of writes) told.set(key, mark)
      } catch (error) {
        for (const [key, one] of writes) if (!noted.has(key)) noted.set(key, one)
        log.warn('the inventory did not take records', { nodes: writes.size, error })
      }
    },
  }
}

/** Thousands of ports are seen in one moment: its text is made once. */
function stampsOf(now: () => Date): () => string {
  let last = { ms: Number.NaN, text: '' }
  return () => {
    const ms = now().getTime()
    if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() }
    return last.text
  }
}

/** An agent was sent to the node for this very config: the first sight of it is the time, a second late at most. */
function isAtWork({ generation, status }: HeldNode): boolean {
  return (
    status?.lastJobName !== undefined && (status.observedGeneration ?? 0) >= generation && status.state !== 'Pending'
  )
}

/** Equal for the same truth, whatever made it be told. Records are all built by one function, so their keys are in one order. */
function markOf({ why: _, ...truth }: InventoryWrite): string {
  return createHash('sha256').update(JSON.stringify(truth)).digest('base64')
}

function recordOf(
  providerId: string,
  node: HeldNode,
  stagesOf: (nic: Interface) => Stages | undefined,
  why: string,
): InventoryWrite {
  const { nodeName, instanceId = '', interfaces, specHash } = node
  const { state, reason, message } = stateOf(node)
  const current = (node.status?.observedGeneration ?? 0) >= node.generation
  return {
    providerId,
    nodeName,
    instanceId,
    config: { nodeName, ...(instanceId !== '' && { instanceId }), interfaces: interfaces.map(toWireInterface) },
    lastConfigHash: specHash,
    state,
    ...(reason !== undefined && { reason: reason.slice(0, 128) }),
    ...(message !== undefined && { message: message.slice(0, 4096) }),
    interfaces: interfaces.map(nic => {
      const status = current ? statusOf(nic, node.status?.interfaceStatuses ?? []) : undefined
      return interfaceRecord(nic, status, stagesOf(nic))
    }),
    why: why.slice(0, 1024),
  }
}

function statusOf(nic: Interface, statuses: readonly InterfaceStatus[]): InterfaceStatus | undefined {
  return (
    statuses.find(({ portId }) => portId !== undefined && portId === nic.portId) ??
    statuses.find(({ id, macAddress }) => id === nic.index && macAddress?.toLowerCase() === nic.macAddress)
  )
}

function interfaceRecord(
  { index: id, name, portId, macAddress }: Interface,
  status: InterfaceStatus | undefined,
  known: Stages | undefined,
): NonNullable<InventoryWrite['interfaces']>[number] {
  const applied = status?.lastConfigured
  const verified = status?.lastChecked ?? applied
  const job = known?.job !== undefined && applied !== undefined && applied < known.job ? applied : known?.job
  const stages: Stages = {
    ...known,
    ...(job !== undefined && { job }),
    ...(applied && { applied }),
    ...(verified && { verified }),
  }
  return {
    ...(status ?? { status: 'Pending' as const }),
    id,
    name,
    ...(portId !== undefined && { portId }),
    macAddress,
    ...(Object.keys(stages).length > 0 && { stages }),
  }
}
