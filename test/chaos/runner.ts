/**
 * Plays a history on a whole sandbox, lets all faults end, and looks whether the world comes to what people want.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { findServer, findSubnet } from '../../sandbox/cloud/state.ts'
import { run } from '../../sandbox/exec.ts'
import { catalogue } from '../../sandbox/faults/catalogue.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../src/contract/openstack-config.ts'
import { jobs, secrets } from '../../src/kube/resources.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { memoryOf } from '../bench/figure.ts'
import { eventually } from '../support/eventually.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'
import { type Act, type ReplicatedPart, replicatedParts, type Step } from './history.ts'
import { wrongAtRest } from './idle-checks.ts'
import { emptyModel, type Model, wantedOf } from './model.ts'
import { type Replica, startReplica } from './replica.ts'
import type { ChaosStage } from './setup.ts'
import { startWatcher, type Watcher } from './watcher.ts'

/** How long the world may take to come to rest once all faults have ended. */
const restMs = 240_000
/** A person looks after that long, and says what only a person can say. */
const patienceMs = 20_000

/** What was wrong; empty when all was well. */
export async function play(stage: ChaosStage, history: readonly Step[]): Promise<string[]> {
  const { walk, clocks, replicaEnv } = stage
  const model = emptyModel()
  // With all that the parts make for themselves.
  await walk.waitUntilReady(60_000)
  const before = await held(walk)
  const replicas = {} as Record<ReplicatedPart, Replica>
  for (const part of replicatedParts) replicas[part] = await startReplica(walk, part, { env: replicaEnv[part] })
  const watcher = await startWatcher(walk, model)
  const wrong: string[] = []
  try {
    for (const step of history) {
      await actOut({ walk, clocks, model, watcher, replicas }, step)
      await sleep(step.thenMs)
    }
    for (const part of replicatedParts) replicas[part].heal()
    clocks.putRight()
    await walk.sandbox.faults.stop()
    await comeBack(walk, model)
    await rest(walk, model)
    await watcher.look()
    wrong.push(...(await wrongAtRest(walk)))
  } catch (error) {
    wrong.push(messageOf(error))
  } finally {
    clocks.putRight()
    await watcher.stop()
    for (const part of replicatedParts) await replicas[part].stop()
  }
  const leaks = wrong.length === 0 ? await leaked(walk, before) : []
  return [...watcher.violations, ...wrong, ...leaks]
}

interface Playing extends Pick<ChaosStage, 'walk' | 'clocks'> {
  model: Model
  watcher: Watcher
  replicas: Record<ReplicatedPart, Replica>
}

async function actOut({ walk, clocks, model, watcher, replicas }: Playing, step: Act): Promise<void> {
  const { sandbox } = walk
  switch (step.act) {
    case 'attach': {
      const [port] = walk.attach({ vm: step.vm, subnet: step.subnet })
      if (!port) return
      model.macs.add(port.macAddress)
      model.ports.set(step.port, { id: port.id, macAddress: port.macAddress, vm: step.vm, subnet: step.subnet })
      return
    }
    case 'detach': {
      const port = model.ports.get(step.port)
      model.ports.delete(step.port)
      if (port) await walk.detach({ vm: port.vm, port: port.id })
      return
    }
    case 'reboot':
      return watcher.without(step.vm, () => sandbox.reboot(step.vm))
    case 'mtu': {
      const { networkId } = findSubnet(sandbox.cloudState, step.subnet)
      const network = sandbox.cloudState.networks.get(networkId)
      if (network) network.mtu = step.mtu
      return sandbox.cloudState.emitPortsChange()
    }
    case 'leave':
      model.away.add(step.vm)
      model.left.add(step.vm)
      return nameVms(walk, model)
    case 'join':
      model.away.delete(step.vm)
      return nameVms(walk, model)
    case 'pause':
      return annotate(walk, step.vm, { [nodeConfigAnnotations.paused]: 'true' })
    case 'resume':
      return annotate(walk, step.vm, { [nodeConfigAnnotations.paused]: null })
    case 'delete-jobs':
      return asPerson(async () => {
        const { items } = await sandbox.biz.kube.list(jobs, { namespace })
        for (const { metadata, spec } of items)
          if (spec.template.spec.nodeName === step.vm)
            await sandbox.biz.kube.delete(jobs, { namespace, name: metadata.name }, { propagation: 'Background' })
      })
    case 'partition':
      return replicas[step.part].cut(step.forMs)
    case 'clock':
      return clocks.set(step.part, step.offMs, step.forMs)
    case 'fault':
      // A part that is just away can be neither killed nor made to stand still.
      return asPerson(() => sandbox.faults.start({ name: step.word, node: step.vm, ...untilOver(step) }))
  }
}

/** A fault that happens once has no duration. */
function untilOver({ word, forMs }: Extract<Act, { act: 'fault' }>): { forMs?: number } {
  return catalogue[word].oneShot ? {} : { forMs }
}

/** Whoever types at a cluster that is away tries again. */
async function asPerson(work: () => Promise<void>): Promise<void> {
  await eventually(work, { within: 60_000, every: 500 })
}

function nameVms({ sandbox }: TestSandbox, { away }: Pick<Model, 'away'>): Promise<void> {
  const vmNames = [...sandbox.nodes.keys()].filter(vm => !away.has(vm)).map(vm => findServer(sandbox.cloudState, vm).id)
  return asPerson(async () => {
    await sandbox.management.kube.patch(openstackConfigs, { namespace, name: 'sandbox' }, { spec: { vmNames } })
  })
}

function annotate({ sandbox }: TestSandbox, name: string, annotations: Record<string, string | null>): Promise<void> {
  return asPerson(async () => {
    if (await sandbox.biz.kube.get(nodeConfigs, { namespace, name }))
      await sandbox.biz.kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations } })
  })
}

/** All that people halted goes on. */
async function comeBack(walk: TestSandbox, model: Model): Promise<void> {
  model.away.clear()
  await nameVms(walk, model)
  for (const vm of walk.sandbox.nodes.keys()) await annotate(walk, vm, { [nodeConfigAnnotations.paused]: null })
}

async function rest(walk: TestSandbox, model: Model): Promise<void> {
  const { sandbox } = walk
  const over = new AbortController()
  const helping = help(walk, over.signal)
  try {
    await eventually(
      async () => {
        const status = await sandbox.status()
        assert.ok(status.ready, `it does not come to rest: ${JSON.stringify(status.nodes)}`)
        for (const vm of sandbox.nodes.keys()) await equalsModel(walk, model, vm)
      },
      { within: restMs, every: 500 },
    )
  } finally {
    over.abort()
    await helping
  }
}

/** A person who lets held removals go, and failed nodes try again. */
async function help({ sandbox }: TestSandbox, signal: AbortSignal): Promise<void> {
  const { management, biz } = sandbox
  while (!signal.aborted) {
    await sleep(patienceMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const now = String(Date.now())
    const release = { metadata: { annotations: { [openstackConfigAnnotations.releaseRemovals]: now } } }
    await management.kube.patch(openstackConfigs, { namespace, name: 'sandbox' }, release)
    for (const { metadata, status } of (await biz.kube.list(nodeConfigs, { namespace })).items)
      if (status?.state === 'Failed') {
        const retry = { metadata: { annotations: { [nodeConfigAnnotations.retry]: now } } }
        await biz.kube.patch(nodeConfigs, { namespace, name: metadata.name }, retry)
      }
  }
}

/** The object, the kernel and the inventory have just the ports that are wanted, with the MTU of their networks. */
async function equalsModel(walk: TestSandbox, model: Model, vm: string): Promise<void> {
  const { cloudState } = walk.sandbox
  const wanted = wantedOf(model, vm)
    .map(port => `${port.macAddress} ${cloudState.networks.get(findSubnet(cloudState, port.subnet).networkId)?.mtu}`)
    .sort()
  const { nics } = await walk.nodeState(vm)
  const ours = nics.filter(nic => nic.name.startsWith('multinic'))
  assert.deepEqual(ours.map(nic => `${nic.macAddress} ${nic.mtu}`).sort(), wanted, `the NICs of ${vm}`)
  if (wanted.length === 0) return
  const { spec } = await walk.nodeConfig(vm)
  const names = spec.interfaces.map(nic => `${nic.name} ${nic.macAddress} ${nic.address}/24`).sort()
  assert.deepEqual(
    ours.map(nic => `${nic.name} ${nic.macAddress} ${nic.addresses[0]}`).sort(),
    names,
    `the names of ${vm}`,
  )
  const { interfaces } = await walk.inventory(vm)
  assert.deepEqual(
    interfaces?.map(nic => `${nic.name} ${nic.macAddress}`).sort(),
    ours.map(nic => `${nic.name} ${nic.macAddress}`),
  )
}

interface Held {
  secrets: number
  namespaces: number
  mounts: number
}

async function held({ sandbox }: TestSandbox): Promise<Held> {
  // Others on this machine have worlds of their own.
  const [mark = ''] = [...sandbox.nodes.values()].map(node => node.namespace.slice(0, -node.name.length))
  const ours = (text: string) =>
    text.split('\n').filter(line => line.includes(mark) || line.includes(sandbox.state.dir))
  return {
    secrets: (await sandbox.management.kube.list(secrets, { namespace })).items.length,
    namespaces: ours(await run('ip', ['netns', 'list'])).length,
    mounts: ours(readFileSync('/proc/self/mounts', 'utf8')).length,
  }
}

const most = { mib: 250, descriptors: 100, jobsOfANode: 4 }

async function leaked(walk: TestSandbox, before: Held): Promise<string[]> {
  const { sandbox } = walk
  const found: string[] = []
  const now = await held(walk)
  for (const what of ['secrets', 'namespaces', 'mounts'] as const)
    if (now[what] > before[what]) found.push(`leak: ${now[what]} ${what} instead of ${before[what]}`)
  for (const part of ['operator', 'viola', 'controller']) {
    const pid = sandbox.components.pidOf(part)
    if (pid === undefined) {
      found.push(`${part} does not run`)
      continue
    }
    const [mib, descriptors] = [memoryOf(pid), readdirSync(`/proc/${pid}/fd`).length]
    if (mib > most.mib) found.push(`leak: ${part} has ${Math.round(mib)} MiB`)
    if (descriptors > most.descriptors) found.push(`leak: ${part} has ${descriptors} descriptors`)
  }
  const { items } = await sandbox.biz.kube.list(jobs, { namespace })
  if (items.length > most.jobsOfANode * sandbox.nodes.size) found.push(`leak: ${items.length} Jobs`)
  return found
}
