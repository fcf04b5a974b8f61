/**
 * Two replicas of every component, with ports that are attached and detached all the time. A test breaks something, and learns
 * how long the dashboard had errors and when a port was ready again. At the end nothing is lost, and no NIC was configured twice.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Agent, request } from 'undici'
import type { HistoryEntry } from '../../src/contract/inventory.ts'
import { pods } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import { type NetworkEvents, watchNetwork } from '../support/network-events.ts'
import { maxOutage, startProber } from '../support/prober.ts'
import { biz, type Machine, management, providerId, type Replicated, startReplicated } from './replicas.fixture.ts'
import { type Nic, type Player, startPlayer } from './replicas-player.ts'

/** With the namespaces of their Pods. */
export const components = [
  ['operator', management],
  ['viola', management],
  ['inventory', management],
  ['controller', biz],
] as const
/** Longest time with errors of the dashboard, in seconds. */
export const limits = { pod: 5, node: 60 }

export interface Trial {
  site: Replicated
  player: Player
  podsOf(component: string, namespace: string): Promise<PodObject[]>
  /**
   * Runs a fault, then waits for a whole change of a port. Reports how long the dashboard had errors, and how long after the
   * start of the fault a port was ready.
   */
  recovers(t: TestContext, name: string, limit: number, fault: () => Promise<void>): Promise<void>
  /** Watches the NICs of a node from now on. */
  watch(machine: Machine): Promise<void>
  /** Stops watching. Since then each NIC was configured once; one that is changing now, at most once. */
  assertConfiguredOnce(machine: Machine, changing?: Nic): Promise<void>
  /** Stops the changes. Each NIC was configured once, and the history has every change. */
  assertNothingLost(t: TestContext): Promise<void>
  close(): Promise<void>
}

interface Watch {
  events: NetworkEvents
  /** The NICs that were detached before. */
  detached: ReadonlySet<Nic>
}

export async function startTrial(): Promise<Trial> {
  const site = await startReplicated()
  try {
    return await trialOf(site)
  } catch (error) {
    await site.close()
    throw error
  }
}

async function trialOf(site: Replicated): Promise<Trial> {
  await site.deploy('install', 'production')
  const headers = { authorization: `Bearer ${await site.token()}` }
  const watches = new Map<Machine, Watch>()
  const startWatch = async (machine: Machine, detached: readonly Nic[]) => {
    watches.set(machine, { events: await watchNetwork(machine.node.netns), detached: new Set(detached) })
  }
  await Promise.all(site.machines.map(machine => startWatch(machine, [])))
  const player = startPlayer(site)
  const nicsOf = (machine: Machine) => player.nics.filter(nic => nic.machine === machine)
  await player.nextChange()
  const urls = ['/', '/v1/inventory/node-configs'].map(path => site.inventory() + path)
  const prober = startProber(urls, { headers, tls: site.inventoryTls })
  const dispatcher = new Agent({ connect: site.inventoryTls })

  const assertConfiguredOnce: Trial['assertConfiguredOnce'] = async (machine, changing) => {
    const { events, detached } = watches.get(machine) ?? assert.fail(`${machine.server.name} is not watched`)
    watches.delete(machine)
    const lines = await events.stop()
    for (const nic of nicsOf(machine)) {
      // The events of the kernel name a NIC by its address, which no other NIC has.
      const own = lines.filter(line => line.includes(` inet ${nic.address}/`))
      const removed = own.filter(line => line.startsWith('Deleted')).length
      const counts = { set: own.length - removed, removed }
      const expected = detached.has(nic) ? { set: 0, removed: 0 } : { set: 1, removed: nic.attached ? 0 : 1 }
      const message = `${machine.server.name} ${nic.port.id}: ${own.join('\n')}`
      if (nic !== changing) assert.deepEqual(counts, expected, message)
      else assert.ok(counts.set <= expected.set && counts.removed <= expected.removed, message)
    }
  }

  const assertHistory = async (machine: Machine) => {
    const path = `/v1/inventory/node-configs/${machine.server.name}/history?providerId=${providerId}&limit=1000`
    const { statusCode, body } = await request(site.inventory() + path, { headers, dispatcher })
    assert.equal(statusCode, 200)
    const entries = (await body.json()) as HistoryEntry[]
    const portsOf = (record: HistoryEntry['after']) => record?.interfaces?.map(({ portId }) => portId) ?? []
    const changes = entries.map(({ before, after }) => {
      const [earlier, later] = [portsOf(before), portsOf(after)]
      return { added: later.filter(id => !earlier.includes(id)), removed: earlier.filter(id => !later.includes(id)) }
    })
    // The next entry would contain the change of a missing one.
    for (const change of changes) assert.ok(Object.values(change).flat().length <= 1, JSON.stringify(change))
    for (const { port, attached } of nicsOf(machine)) {
      const added = changes.filter(change => change.added.includes(port.id)).length
      const removed = changes.filter(change => change.removed.includes(port.id)).length
      assert.deepEqual({ added, removed }, { added: 1, removed: attached ? 0 : 1 }, `${machine.server.name} ${port.id}`)
    }
  }

  return {
    ...{ site, player, assertConfiguredOnce },
    watch: machine =>
      startWatch(
        machine,
        nicsOf(machine).filter(({ attached }) => !attached),
      ),
    async podsOf(component, namespace) {
      const { items } = await site.kube.list(pods, { namespace })
      return items.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === component)
    },
    async recovers(t, name, limit, fault) {
      const startedAt = performance.now()
      let readyAt = 0
      const failures = await prober.during(async () => {
        await fault()
        readyAt = (await player.nextChange()).endedAt
      })
      const errors = seconds(maxOutage(failures))
      const slowest = Math.max(
        ...player.changes
          .filter(({ endedAt }) => endedAt >= startedAt)
          .map(change => change.endedAt - change.startedAt),
      )
      t.diagnostic(
        `${name}: dashboard errors over ${errors} s (${failures.length}), slowest change of a port ${seconds(slowest)} s, recovered ${seconds(readyAt - startedAt)} s after the fault`,
      )
      assert.ok(errors <= limit, `${name}: errors over ${errors} s: ${JSON.stringify(failures.slice(0, 5))}`)
    },
    async assertNothingLost(t) {
      await player.stop()
      t.diagnostic(`${player.changes.length} changes of ${player.nics.length} ports`)
      for (const machine of site.machines) {
        await assertConfiguredOnce(machine)
        await assertHistory(machine)
      }
    },
    async close() {
      await dispatcher.close()
      await prober.stop()
      await player.stop().catch(() => {})
      await site.close()
    },
  }
}

export function seconds(milliseconds: number): number {
  return Number((milliseconds / 1_000).toFixed(1))
}
