/**
 * The steps of a history: what users, clouds, disks and crashes do to a sandbox.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { findSubnet } from '../../sandbox/cloud/state.ts'
import { ipBatch } from '../../sandbox/exec.ts'
import { catalogue } from '../../sandbox/faults/catalogue.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigs,
} from '../../src/contract/openstack-config.ts'
import { jobs, namespaces } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import type { NicState } from '../system/sandbox.fixture.ts'
import { serverOf } from './cloud-changes.ts'
import type { Action, DriftEdit, ReplicatedComponent } from './history.ts'
import { type Model, requestedPorts } from './model.ts'
import { rebootAndCompare } from './reboot.ts'
import type { Replica } from './replica.ts'
import type { ChaosSetup } from './setup.ts'
import type { Watcher } from './watcher.ts'

export interface RunContext extends Pick<ChaosSetup, 'system' | 'clocks' | 'cloud'> {
  model: Model
  watcher: Watcher
  replicas: Record<ReplicatedComponent, Replica>
}

export async function runStep(context: RunContext, step: Action): Promise<void> {
  const { system, clocks, cloud, model, watcher, replicas } = context
  const { sandbox } = system
  switch (step.action) {
    case 'attach': {
      const { id, macAddress } = await cloud.attach(step.vm, step.subnet)
      model.ports.set(step.port, { id, macAddress, vm: step.vm, subnet: step.subnet })
      return
    }
    case 'detach': {
      const port = model.ports.get(step.port)
      model.ports.delete(step.port)
      if (port) await cloud.detach(port.vm, port.id)
      return
    }
    case 'reboot':
      return watcher.ignoring(step.vm, () => reboot(context, step.vm))
    case 'mtu':
      return cloud.setMtu(step.subnet, step.mtu)
    case 'addresses': {
      const port = model.ports.get(step.port)
      return port && cloud.setAddresses(port.id, step.count)
    }
    case 'gateway':
      return cloud.setGateway(step.subnet, step.enabled ? addressIn(sandbox, step.subnet, 1) : null)
    case 'routes': {
      const nexthop = addressIn(sandbox, step.subnet, 5)
      const routes = Array.from({ length: step.count }, (_, index) => ({
        destination: `172.31.${index}.0/24`,
        nexthop,
      }))
      return cloud.setRoutes(step.subnet, routes)
    }
    case 'rename':
      return cloud.rename(step.vm, step.name)
    case 'exclude-vm':
      model.excluded.add(step.vm)
      model.everExcluded.add(step.vm)
      return writeSelection(sandbox, model)
    case 'include-vm':
      model.excluded.delete(step.vm)
      return writeSelection(sandbox, model)
    case 'exclude-subnet':
      model.excludedSubnets.add(step.subnet)
      model.everExcludedSubnets.add(step.subnet)
      return writeSelection(sandbox, model)
    case 'include-subnet':
      model.excludedSubnets.delete(step.subnet)
      return writeSelection(sandbox, model)
    case 'pause':
      return annotate(sandbox, step.vm, { [nodeConfigAnnotations.paused]: 'true' })
    case 'resume':
      return annotate(sandbox, step.vm, { [nodeConfigAnnotations.paused]: null })
    case 'delete-jobs':
      return deleteJobs(sandbox, step.vm)
    case 'rollout':
      return untilItSucceeds(async () => {
        const annotations = { [nodeConfigAnnotations.rolloutAgent]: new Date().toISOString() }
        await sandbox.biz.kube.patch(namespaces, { name: namespace }, { metadata: { annotations } })
      })
    case 'drift':
      model.drifted.add(step.vm)
      return editNic(context, step)
    case 'partition':
      return replicas[step.component].partition(step.forMs)
    case 'clock':
      return clocks.set(step.component, step.offsetMs, step.forMs)
    case 'fault':
      // A component that is down now can be neither killed nor suspended.
      return untilItSucceeds(() => sandbox.faults.start({ name: step.fault, node: step.vm, ...durationOf(step) }))
  }
}

async function reboot({ system, model, watcher }: RunContext, vm: string): Promise<void> {
  const violations = await rebootAndCompare(system, vm)
  // A boot also reverts what somebody changed by hand.
  if (!model.drifted.has(vm)) for (const text of violations) watcher.report(text)
}

/** A fault that happens once has no duration. */
function durationOf({ fault, forMs }: Extract<Action, { action: 'fault' }>): { forMs?: number } {
  return catalogue[fault].oneShot ? {} : { forMs }
}

/** A user repeats a command while the cluster is unreachable. */
async function untilItSucceeds(work: () => Promise<void>): Promise<void> {
  await eventually(work, { within: 60_000, every: 500 })
}

function addressIn({ cloudState }: Sandbox, subnet: string, host: number): string {
  return findSubnet(cloudState, subnet).cidr.replace(/\d+\/\d+$/, String(host))
}

const selectedSubnets = ['storage', 'backup']

function writeSelection(sandbox: Sandbox, { excluded, excludedSubnets }: Model): Promise<void> {
  const spec: Partial<OpenstackConfig['spec']> = {
    vmNames: [...sandbox.nodes.keys()].filter(vm => !excluded.has(vm)).map(vm => serverOf(sandbox, vm)),
    subnetIDs: selectedSubnets
      .filter(subnet => !excludedSubnets.has(subnet))
      .map(subnet => findSubnet(sandbox.cloudState, subnet).id),
  }
  return untilItSucceeds(async () => {
    await sandbox.management.kube.patch(openstackConfigs, { namespace, name: 'sandbox' }, { spec })
  })
}

function annotate({ biz }: Sandbox, name: string, annotations: Record<string, string | null>): Promise<void> {
  return untilItSucceeds(async () => {
    if (await biz.kube.get(nodeConfigs, { namespace, name }))
      await biz.kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations } })
  })
}

function deleteJobs({ biz }: Sandbox, vm: string): Promise<void> {
  return untilItSucceeds(async () => {
    const { items } = await biz.kube.list(jobs, { namespace })
    for (const { metadata, spec } of items)
      if (spec.template.spec.nodeName === vm)
        await biz.kube.delete(jobs, { namespace, name: metadata.name }, { propagation: 'Background' })
  })
}

const editsOf: Record<DriftEdit, (nic: NicState) => string[]> = {
  mtu: ({ name }) => [`link set dev ${name} mtu 1300`],
  address: ({ name, addresses: [address] }) => (address === undefined ? [] : [`addr del ${address} dev ${name}`]),
  down: ({ name }) => [`link set dev ${name} down`],
  name: ({ name, macAddress }) => [
    `link set dev ${name} down`,
    `link set dev ${name} name hand${macAddress.replaceAll(':', '').slice(6)}`,
  ],
  route: ({ name }) => [`route flush table 10${name.slice(-1)}`],
}

/** How long somebody waits for a NIC to change. */
const nicMs = 5_000

/** The NIC may vanish meanwhile, or faults delay all of them: then there is nothing to change. */
async function editNic({ system, model }: RunContext, step: Extract<Action, { action: 'drift' }>): Promise<void> {
  if (requestedPorts(model, step.vm).length === 0) return
  const findNic = async (): Promise<NicState> => {
    const { nics } = await system.nodeState(step.vm)
    const ours = nics.filter(({ name, macAddress }) => model.macAddresses.has(macAddress) && /^multinic\d$/.test(name))
    return ours[step.nic % ours.length] ?? assert.fail(`${step.vm} has no NIC`)
  }
  const nic = await eventually(findNic, { within: nicMs }).catch(() => undefined)
  const { namespace: netns = '' } = system.sandbox.nodes.get(step.vm) ?? {}
  if (nic) await ipBatch(netns, editsOf[step.edit](nic)).catch(() => {})
}

/** Includes all VMs and subnets, resumes all nodes, and gives the VMs their names. */
export async function revertUserActions({ system, model, cloud }: RunContext): Promise<void> {
  const { sandbox } = system
  model.excluded.clear()
  model.excludedSubnets.clear()
  await writeSelection(sandbox, model)
  for (const vm of sandbox.nodes.keys()) {
    await cloud.rename(vm, vm)
    await annotate(sandbox, vm, { [nodeConfigAnnotations.paused]: null })
  }
}

/** How often the administrator acts. */
const administratorMs = 10_000

/** Approves removals on hold, checks nodes that somebody changed by hand, and retries failed and drifted nodes. */
export async function actAsAdministrator(sandbox: Sandbox, { drifted }: Model, signal: AbortSignal): Promise<void> {
  const { management, biz } = sandbox
  while (!signal.aborted) {
    await sleep(administratorMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const now = String(Date.now())
    const release = { metadata: { annotations: { [openstackConfigAnnotations.approveRemovals]: now } } }
    await management.kube.patch(openstackConfigs, { namespace, name: 'sandbox' }, release)
    for (const { metadata, status } of (await biz.kube.list(nodeConfigs, { namespace })).items) {
      const isDrifted = status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'Drifted')
      const { retry, check } = nodeConfigAnnotations
      const request = status?.state === 'Failed' || isDrifted ? retry : drifted.has(metadata.name) ? check : undefined
      if (request) await annotate(sandbox, metadata.name, { [request]: now })
    }
  }
}
