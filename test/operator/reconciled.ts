/**
 * The reconciler of one object without its controller and its clocks: a test says what wakes it, and when it forgets.
 */

import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import type { NodeConfig, NodeConfigStatus } from '../../src/contract/node-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import type { Hints } from '../../src/operator/events/hints.ts'
import { createFairShare } from '../../src/operator/limits/fair-share.ts'
import { createOwnStatuses } from '../../src/operator/status/own-status.ts'
import { createObjectEvents } from '../../src/operator/sync/object-events.ts'
import { configReconciler, type ReconcileDeps } from '../../src/operator/sync/reconcile.ts'
import type { SyncResult } from '../../src/operator/sync/sync.ts'
import { createTraces } from '../../src/operator/sync/traces.ts'
import { createObjectMemory } from '../../src/runtime/object-memory.ts'
import { silent } from '../../src/telemetry/log.ts'
import { noTracer } from '../../src/telemetry/trace.ts'
import type { OperatorEnvironment } from './environment.ts'
import { type Clocks, openSyncDeps } from './sync-deps.ts'

interface Options {
  name: string
  providerId: string
  /** Of its node configs. */
  namespace: string
  clocks: Required<Pick<Clocks, 'now' | 'date'>>
}

type NodeInterfaces = NodeConfig['spec']['interfaces']

export type Reconciled = Awaited<ReturnType<typeof openReconciled>>

export async function openReconciled(environment: OperatorEnvironment, options: Options) {
  const { name, providerId, namespace, clocks } = options
  const { kube, cloud, violaUrl } = environment
  const at = { namespace: sandboxNamespace, name }
  const key = `${at.namespace}/${name}`
  const reads: Partial<Record<string, number>> = {}
  let last: SyncResult | undefined
  let hints: Hints
  let wake: 'sync' | 'status'
  let parts = await open()

  async function open() {
    const memory = createObjectMemory()
    const opened = await openSyncDeps(environment, { ...clocks, memory })
    const { locks, cloudEvents } = opened.deps
    const deps: ReconcileDeps = {
      ...opened.deps,
      env: { CONTRABASS_ENDPOINT: cloud.urls.contrabass, VIOLA_ENDPOINT: violaUrl },
      kube,
      locks: {
        async hold(keys, work) {
          const interfere = side.beforeDelivery
          side.beforeDelivery = undefined
          await interfere?.()
          return locks.hold(keys, work)
        },
      },
      cloudEvents: { ...cloudEvents, take: () => hints },
      objectEvents: createObjectEvents({ event() {}, flush: async () => {} }, memory),
      ownStatuses: createOwnStatuses(memory),
      histories: memory.slot(),
      forget: opened.forget,
      takeForced: () => false,
      takeWakes: () => ({ forSync: wake === 'sync', forStatus: wake === 'status' }),
      wakeForStatus() {},
      fairShare: createFairShare(10, () => {}),
      traces: createTraces(noTracer, opened.deps.timed, Date.now),
      random: () => 0,
      onSynced(_, result) {
        last = result
        const scope = result?.inspection.reads ?? 'failed'
        reads[scope] = (reads[scope] ?? 0) + 1
      },
    }
    return { ...opened, reconcile: configReconciler(deps) }
  }

  /** Of this object: an earlier one of the test may have left others. */
  async function nodes(): Promise<NodeConfig[]> {
    const { items } = await kube.list(nodeConfigs, { namespace })
    return items.filter(({ spec }) => spec.interfaces.some(({ source }) => source === key))
  }

  async function nodeAt(position: number): Promise<NodeConfig | undefined> {
    const items = await nodes()
    return items.toSorted((a, b) => (a.spec.nodeName < b.spec.nodeName ? -1 : 1))[position % items.length]
  }

  const side = {
    at,
    reads,
    /** Runs once, when the next delivery has its locks: its plan is out of date then. */
    beforeDelivery: undefined as (() => Promise<void>) | undefined,
    async reconcile(newHints: Hints, newWake: 'sync' | 'status') {
      ;[hints, wake] = [newHints, newWake]
      await parts.reconcile(key, { log: silent, signal: new AbortController().signal, waited: 0 })
    },
    forget: () => parts.forget(key),
    async restart() {
      await parts.close()
      parts = await open()
    },
    /** It waits for another answer, or failed. */
    isOpen: () => last === undefined || last.unresolved || last.error !== undefined,
    /** By hand. */
    async editNode(position: number, change: (interfaces: NodeInterfaces) => NodeInterfaces) {
      const node = await nodeAt(position)
      if (!node) return
      const { kind, apiVersion, metadata, spec } = node
      const edited = { nodeName: spec.nodeName, interfaces: change(spec.interfaces) }
      const object = { kind, apiVersion, metadata: { name: metadata.name, namespace }, spec: edited }
      await kube.apply(nodeConfigs, object, { fieldManager: 'kubectl-edit', force: true })
    },
    async report(position: number, status: (node: NodeConfig) => NodeConfigStatus) {
      const node = await nodeAt(position)
      if (node) await kube.patchStatus(nodeConfigs, { namespace, name: node.metadata.name }, status(node))
    },
    /** Without times and order, without what is about the last sync only, and with the names of both sides made equal. */
    async state() {
      const { status: { lastChangeAt: _, conditions = [], ...status } = {} } = await environment.config(name)
      const text = JSON.stringify({
        nodes: (await nodes()).map(({ spec: { specHash: _, ...spec } }) => spec),
        status,
        conditions: conditions
          .filter(({ type }) => type !== 'Ready')
          .map(({ message = '', ...condition }) => ({ ...condition, message: message.split('; ').sort() })),
        verdicts: last?.findings.verdicts.map(verdict => JSON.stringify(verdict)).sort(),
      })
      const neutral = text
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
        .replaceAll(name, 'name')
        .replaceAll(providerId, 'cluster')
      return JSON.parse(neutral)
    },
    [Symbol.asyncDispose]: () => parts.close(),
  }
  return side
}
