/**
 * Looks on while there is chaos, and notes each moment at which a guarantee did not hold.
 *
 * G1: what is not ours on a node stays as it is. G2: no interface goes that somebody wants. G3: a port keeps its number, and a
 * number has one port. One Job of ours at a time on a node.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { jobs } from '../../src/kube/resources.ts'
import type { JobObject } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'
import type { NodeState, TestSandbox } from '../system/sandbox.fixture.ts'
import { isWanted, type Model } from './model.ts'

export interface Watcher {
  readonly violations: readonly string[]
  /** The node is not looked at meanwhile: it has no power. */
  without<T>(vm: string, work: () => Promise<T>): Promise<T>
  /** What is foreign is as it was, now. */
  look(): Promise<void>
  stop(): Promise<void>
}

const everyMs = 1_000
/** Routing tables and rule priorities that are ours. */
const ourTable = /^10\d: /
const ourRule = /^10[12]\d\d: .* lookup 10\d$/

export async function startWatcher(walk: TestSandbox, model: Model): Promise<Watcher> {
  const { nodes, biz } = walk.sandbox
  const life = new AbortController()
  const violations: string[] = []
  const numbers = new Map<string, number>()
  const powerless = new Set<string>()
  const began = performance.now()
  const note = (text: string) => {
    if (violations.length < 100) violations.push(`${((performance.now() - began) / 1_000).toFixed(1)} s: ${text}`)
  }

  const before = new Map<string, string>()
  for (const name of nodes.keys()) before.set(name, foreignIn(await walk.nodeState(name), model))

  async function look(): Promise<void> {
    for (const name of nodes.keys()) {
      if (powerless.has(name)) continue
      const state = await walk.nodeState(name).catch(() => undefined)
      // It may have lost its power while it was looked at.
      if (!state || powerless.has(name)) continue
      const now = foreignIn(state, model)
      if (now !== before.get(name)) note(`G1: ${name} is no longer as it was:\n${before.get(name)}\nbut\n${now}`)
    }
  }

  function heed(config: NodeConfig): void {
    const { nodeName, interfaces } = config.spec
    const taken = new Map<number, string>()
    for (const { id = -1, portId = '' } of interfaces) {
      const other = taken.get(id)
      if (other) note(`G3: ${nodeName} gives multinic${id} to ${other} and to ${portId}`)
      taken.set(id, portId)
      const number = numbers.get(portId)
      if (number !== undefined && number !== id && isWanted(model, portId))
        note(`G3: ${portId} was multinic${number} and is multinic${id}`)
      numbers.set(portId, id)
    }
    forgetGone(nodeName, new Set(taken.values()))
  }

  function forgetGone(nodeName: string, there: ReadonlySet<string>): void {
    for (const { id, vm } of model.ports.values()) {
      if (vm !== nodeName || there.has(id) || !numbers.has(id)) continue
      if (isWanted(model, id)) note(`G2: ${nodeName} lost the port ${id}, which is attached and wanted`)
    }
    for (const id of numbers.keys()) if (!there.has(id) && !isWanted(model, id)) numbers.delete(id)
  }

  const configs = createInformer(biz.kube, nodeConfigs, { namespace, log: silent })
  configs.on(({ type, object }) => (type === 'deleted' ? forgetGone(object.spec.nodeName, new Set()) : heed(object)))
  const own = createInformer(biz.kube, jobs, { namespace, log: silent })
  own.on(({ type, object }) => {
    const node = object.spec.template.spec.nodeName
    const open = own.list().filter(each => each.spec.template.spec.nodeName === node && isOpen(each))
    if (type !== 'deleted' && open.length > 1)
      note(`two Jobs on ${node}: ${open.map(({ metadata }) => metadata.name).join(', ')}`)
  })
  for (const informer of [configs, own]) await informer.start(life.signal)

  const looking = (async () => {
    while (!life.signal.aborted) {
      await look()
      await sleep(everyMs, undefined, { signal: life.signal }).catch(() => {})
    }
  })()

  return {
    violations,
    look,
    async without(vm, work) {
      powerless.add(vm)
      try {
        return await work()
      } finally {
        powerless.delete(vm)
      }
    },
    async stop() {
      life.abort()
      await looking
    },
  }
}

function isOpen({ metadata, status }: JobObject): boolean {
  const ended = status?.conditions?.some(({ type, status: is }) => /Complete|Failed/.test(type) && is === 'True')
  return !ended && metadata.deletionTimestamp === undefined
}

/** All of a node that is not ours, as text. */
function foreignIn({ nics, rules, routes, files }: NodeState, { macs }: Model): string {
  const ours = new Set(nics.filter(nic => macs.has(nic.macAddress)).map(nic => nic.name))
  const isOurs = (route: string) => ourTable.test(route) || ours.has(/ dev (\S+)$/.exec(route)?.[1] ?? '')
  return [
    ...nics
      .filter(nic => !ours.has(nic.name))
      .map(nic => `${nic.name} ${nic.macAddress} ${nic.mtu} ${nic.up} ${nic.addresses}`),
    ...rules.filter(rule => !ourRule.test(rule)),
    ...routes.filter(route => !isOurs(route)),
    ...Object.entries(files)
      .filter(([path]) => !path.includes('multinic'))
      .map(([path, text]) => `${path} ${text.length}`),
  ].join('\n')
}
