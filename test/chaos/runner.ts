/**
 * Runs a history on a sandbox, ends all faults, and checks that the system reaches the requested state.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { attachedPorts } from '../../sandbox/cloud/attach.ts'
import { run } from '../../sandbox/exec.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { jobs, secrets } from '../../src/kube/resources.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { memoryOf } from '../bench/figure.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'
import { type ReplicatedComponent, replicatedComponents, type Step } from './history.ts'
import { idleViolations } from './idle-checks.ts'
import { emptyModel, type Model } from './model.ts'
import { type Replica, startReplica } from './replica.ts'
import { waitForRequestedState } from './requested-state.ts'
import type { ChaosSetup } from './setup.ts'
import { revertUserActions, runStep } from './steps.ts'
import { startWatcher } from './watcher.ts'

/** Returns the violations; empty if there were none. */
export async function runHistory(setup: ChaosSetup, history: readonly Step[]): Promise<string[]> {
  const { system, clocks, cloud, replicaEnv } = setup
  const model = emptyModel()
  recordMacAddresses(system.sandbox, model)
  // Ready, so that the count includes what the components create at the start.
  await system.waitUntilReady(60_000)
  const before = await countResources(system)
  const replicas = {} as Record<ReplicatedComponent, Replica>
  for (const component of replicatedComponents)
    replicas[component] = await startReplica(system, component, { env: replicaEnv[component] })
  const watcher = await startWatcher(system, model)
  const context = { system, clocks, cloud, model, watcher, replicas }
  const violations: string[] = []
  try {
    for (const step of history) {
      await runStep(context, step)
      await sleep(step.thenMs)
    }
    for (const component of replicatedComponents) replicas[component].heal()
    clocks.reset()
    await system.sandbox.faults.stop()
    await revertUserActions(context)
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

/** With the ports themselves: a real cloud plugs a NIC before it answers. */
function recordMacAddresses({ cloudState, nodes }: Sandbox, { macAddresses }: Model): void {
  cloudState.onPortsChange(() => {
    for (const { server } of nodes.values())
      for (const port of attachedPorts(cloudState, server)) macAddresses.add(port.macAddress)
  })
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
