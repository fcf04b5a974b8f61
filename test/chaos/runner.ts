/**
 * Runs a history on a sandbox, ends all faults, and checks that the system reaches the requested state.
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
import { type Action, type ReplicatedComponent, replicatedComponents, type Step } from './history.ts'
import { idleViolations } from './idle-checks.ts'
import { emptyModel, type Model, requestedPorts } from './model.ts'
import { type Replica, startReplica } from './replica.ts'
import type { ChaosSetup } from './setup.ts'
import { startWatcher, type Watcher } from './watcher.ts'

/** Time limit to reach the requested state after the end of all faults. */
const convergenceMs = 240_000
/** How often the administrator approves removals and retries failed nodes. */
const administratorMs = 20_000

/** Returns the violations; empty if there were none. */
export async function runHistory(setup: ChaosSetup, history: readonly Step[]): Promise<string[]> {
  const { system, clocks, replicaEnv } = setup
  const model = emptyModel()
  // Ready, so that the count includes what the components create at the start.
  await system.waitUntilReady(60_000)
  const before = await countResources(system)
  const replicas = {} as Record<ReplicatedComponent, Replica>
  for (const component of replicatedComponents)
    replicas[component] = await startReplica(system, component, { env: replicaEnv[component] })
  const watcher = await startWatcher(system, model)
  const violations: string[] = []
  try {
    for (const step of history) {
      await runStep({ system, clocks, model, watcher, replicas }, step)
      await sleep(step.thenMs)
    }
    for (const component of replicatedComponents) replicas[component].heal()
    clocks.reset()
    await system.sandbox.faults.stop()
    await revertUserActions(system, model)
    await waitForRequestedState(system, model)
    await watcher.inspect()
    violations.push(...(await idleViolations(system)))
  } catch (error) {
    violations.push(messageOf(error))
  } finally {
    clocks.reset()
    await watcher.stop()
    for (const component of replicatedComponents) await replicas[component].stop()
  }
  const leaks = violations.length === 0 ? await findLeaks(system, before) : []
  return [...watcher.violations, ...violations, ...leaks]
}

interface RunContext extends Pick<ChaosSetup, 'system' | 'clocks'> {
  model: Model
  watcher: Watcher
  replicas: Record<ReplicatedComponent, Replica>
}

async function runStep({ system, clocks, model, watcher, replicas }: RunContext, step: Action): Promise<void> {
  const { sandbox } = system
  switch (step.action) {
    case 'attach': {
      const [port] = system.attach({ vm: step.vm, subnet: step.subnet })
      if (!port) return
      model.macAddresses.add(port.macAddress)
      model.ports.set(step.port, { id: port.id, macAddress: port.macAddress, vm: step.vm, subnet: step.subnet })
      return
    }
    case 'detach': {
      const port = model.ports.get(step.port)
      model.ports.delete(step.port)
      if (port) await system.detach({ vm: port.vm, port: port.id })
      return
    }
    case 'reboot':
      return watcher.ignoring(step.vm, () => sandbox.reboot(step.vm))
    case 'mtu': {
      const { networkId } = findSubnet(sandbox.cloudState, step.subnet)
      const network = sandbox.cloudState.networks.get(networkId)
      if (network) network.mtu = step.mtu
      return sandbox.cloudState.emitPortsChange()
    }
    case 'exclude-vm':
      model.excluded.add(step.vm)
      model.everExcluded.add(step.vm)
      return writeVmNames(system, model)
    case 'include-vm':
      model.excluded.delete(step.vm)
      return writeVmNames(system, model)
    case 'pause':
      return annotate(system, step.vm, { [nodeConfigAnnotations.paused]: 'true' })
    case 'resume':
      return annotate(system, step.vm, { [nodeConfigAnnotations.paused]: null })
    case 'delete-jobs':
      return untilItSucceeds(async () => {
        const { items } = await sandbox.biz.kube.list(jobs, { namespace })
        for (const { metadata, spec } of items)
          if (spec.template.spec.nodeName === step.vm)
            await sandbox.biz.kube.delete(jobs, { namespace, name: metadata.name }, { propagation: 'Background' })
      })
    case 'partition':
      return replicas[step.component].partition(step.forMs)
    case 'clock':
      return clocks.set(step.component, step.offsetMs, step.forMs)
    case 'fault':
      // A component that is down now can be neither killed nor suspended.
      return untilItSucceeds(() => sandbox.faults.start({ name: step.fault, node: step.vm, ...durationOf(step) }))
  }
}

/** A fault that happens once has no duration. */
function durationOf({ fault, forMs }: Extract<Action, { action: 'fault' }>): { forMs?: number } {
  return catalogue[fault].oneShot ? {} : { forMs }
}

/** A user repeats a command while the cluster is unreachable. */
async function untilItSucceeds(work: () => Promise<void>): Promise<void> {
  await eventually(work, { within: 60_000, every: 500 })
}

function writeVmNames({ sandbox }: TestSandbox, { excluded }: Pick<Model, 'excluded'>): Promise<void> {
  const vmNames = [...sandbox.nodes.keys()]
    .filter(vm => !excluded.has(vm))
    .map(vm => findServer(sandbox.cloudState, vm).id)
  return untilItSucceeds(async () => {
    await sandbox.management.kube.patch(openstackConfigs, { namespace, name: 'sandbox' }, { spec: { vmNames } })
  })
}

function annotate({ sandbox }: TestSandbox, name: string, annotations: Record<string, string | null>): Promise<void> {
  return untilItSucceeds(async () => {
    if (await sandbox.biz.kube.get(nodeConfigs, { namespace, name }))
      await sandbox.biz.kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations } })
  })
}

/** Includes all VMs and resumes all nodes. */
async function revertUserActions(system: TestSandbox, model: Model): Promise<void> {
  model.excluded.clear()
  await writeVmNames(system, model)
  for (const vm of system.sandbox.nodes.keys()) await annotate(system, vm, { [nodeConfigAnnotations.paused]: null })
}

async function waitForRequestedState(system: TestSandbox, model: Model): Promise<void> {
  const { sandbox } = system
  const done = new AbortController()
  const administrator = actAsAdministrator(system, done.signal)
  try {
    await eventually(
      async () => {
        const status = await sandbox.status()
        assert.ok(status.ready, `the system is not ready: ${JSON.stringify(status.nodes)}`)
        for (const vm of sandbox.nodes.keys()) await assertRequestedState(system, model, vm)
      },
      { within: convergenceMs, every: 500 },
    )
  } finally {
    done.abort()
    await administrator
  }
}

/** Approves removals on hold and retries failed nodes. */
async function actAsAdministrator({ sandbox }: TestSandbox, signal: AbortSignal): Promise<void> {
  const { management, biz } = sandbox
  while (!signal.aborted) {
    await sleep(administratorMs, undefined, { signal }).catch(() => {})
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

/** The node config, the kernel and the inventory have exactly the requested ports, with the MTU of their networks. */
async function assertRequestedState(system: TestSandbox, model: Model, vm: string): Promise<void> {
  const { cloudState } = system.sandbox
  const requested = requestedPorts(model, vm)
    .map(port => `${port.macAddress} ${cloudState.networks.get(findSubnet(cloudState, port.subnet).networkId)?.mtu}`)
    .sort()
  const { nics } = await system.nodeState(vm)
  const ours = nics.filter(nic => nic.name.startsWith('multinic'))
  assert.deepEqual(ours.map(nic => `${nic.macAddress} ${nic.mtu}`).sort(), requested, `NICs of ${vm}`)
  if (requested.length === 0) return
  const { spec } = await system.nodeConfig(vm)
  const names = spec.interfaces.map(nic => `${nic.name} ${nic.macAddress} ${nic.address}/24`).sort()
  assert.deepEqual(
    ours.map(nic => `${nic.name} ${nic.macAddress} ${nic.addresses[0]}`).sort(),
    names,
    `interface names of ${vm}`,
  )
  const { interfaces } = await system.inventory(vm)
  assert.deepEqual(
    interfaces?.map(nic => `${nic.name} ${nic.macAddress}`).sort(),
    ours.map(nic => `${nic.name} ${nic.macAddress}`),
  )
}

interface ResourceCount {
  secrets: number
  namespaces: number
  mounts: number
}

async function countResources({ sandbox }: TestSandbox): Promise<ResourceCount> {
  // Other sandboxes may run on this machine.
  const [prefix = ''] = [...sandbox.nodes.values()].map(node => node.namespace.slice(0, -node.name.length))
  const ours = (text: string) =>
    text.split('\n').filter(line => line.includes(prefix) || line.includes(sandbox.state.dir))
  return {
    secrets: (await sandbox.management.kube.list(secrets, { namespace })).items.length,
    namespaces: ours(await run('ip', ['netns', 'list'])).length,
    mounts: ours(readFileSync('/proc/self/mounts', 'utf8')).length,
  }
}

const limits = { mib: 250, descriptors: 100, jobsPerNode: 4 }

async function findLeaks(system: TestSandbox, before: ResourceCount): Promise<string[]> {
  const { sandbox } = system
  const found: string[] = []
  const now = await countResources(system)
  for (const what of ['secrets', 'namespaces', 'mounts'] as const)
    if (now[what] > before[what]) found.push(`leak: ${now[what]} ${what} instead of ${before[what]}`)
  for (const component of ['operator', 'viola', 'controller']) {
    const pid = sandbox.components.pidOf(component)
    if (pid === undefined) {
      found.push(`${component} does not run`)
      continue
    }
    const [mib, descriptors] = [memoryOf(pid), readdirSync(`/proc/${pid}/fd`).length]
    if (mib > limits.mib) found.push(`leak: ${component} has ${Math.round(mib)} MiB`)
    if (descriptors > limits.descriptors) found.push(`leak: ${component} has ${descriptors} descriptors`)
  }
  const { items } = await sandbox.biz.kube.list(jobs, { namespace })
  if (items.length > limits.jobsPerNode * sandbox.nodes.size) found.push(`leak: ${items.length} Jobs`)
  return found
}
