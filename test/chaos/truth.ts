/**
 * Runs steps on a sandbox and compares every surface with the kernel after each.
 *
 * While a step is in progress, NICs that it does not touch must look the same on every surface. Then each node is checked, and
 * every surface must say what the kernel says.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { type Run, runner } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'
import { claimsOf } from './claims.ts'
import { contradictions, impossibilities } from './contradictions.ts'
import { fleetContradictions, readFleet } from './fleet-surfaces.ts'
import { emptyModel, type Model, requestedPorts } from './model.ts'
import { readSurfaces } from './read-surfaces.ts'
import { matchesKernel, type Surfaces } from './surfaces.ts'

const settleMs = 120_000
/** The operator of the sandbox reads the cluster every 500 ms. */
const defaultSpreadMs = 60_000

/** What must not change on any surface while a NIC is not touched. */
interface HealthyNic {
  vm: string
  name: string
  lastConfigured: string | undefined
  stages: unknown
  /** A NIC in the same network comes or goes: the agent changes the rules of this one. */
  getsNewRules?: boolean
}

export interface Truth {
  readonly system: TestSandbox
  readonly multinic: Run
  readonly model: Model
  readonly paused: Set<string>
  /** Runs a step. It may change the NICs for which `touches` is true, the rules of other NICs in this network, and no others. */
  step(
    work: () => Promise<void>,
    touches?: (nic: { vm: string; macAddress: string }) => boolean,
    network?: { vm: string; subnet: string },
  ): Promise<void>
  config(vm: string): Promise<NodeConfig | undefined>
  /** A command that must find an answer: yes or no. */
  answer(...args: string[]): Promise<void>
}

export function truthOf(system: TestSandbox, spreadMs = defaultSpreadMs): Truth {
  const { sandbox } = system
  const multinic = runner({
    MULTINIC_INVENTORY_URL: sandbox.urls['inventory'] ?? '',
    MULTINIC_TOKEN_FILE: sandbox.state.path('operator-token'),
    KUBECONFIG: sandbox.biz.kubeconfig,
  })
  const model = emptyModel()
  const paused = new Set<string>()
  /** By MAC address. */
  let healthy = new Map<string, HealthyNic>()
  const vms = () => [...sandbox.nodes.keys()]
  const config = (name: string) => sandbox.biz.kube.get(nodeConfigs, { namespace, name })

  async function answer(...args: string[]): Promise<void> {
    const { code, error } = await multinic(...args)
    assert.ok(code === 0 || code === 1, `multinic ${args.join(' ')}: ${error}`)
  }

  /** A component that restarts does not answer. */
  async function read(vm: string): Promise<Surfaces> {
    return eventually(() => readSurfaces(system, multinic, vm), { within: spreadMs, every: 100 })
  }

  /** Reads the surfaces and records what they must not say, whatever is in progress. */
  async function observe(vm: string, violations: Set<string>): Promise<Surfaces> {
    const surfaces = await read(vm)
    for (const text of impossibilities(surfaces)) violations.add(`${vm} ${text}`)
    for (const [macAddress, before] of healthy)
      if (before.vm === vm) for (const text of changesOf(surfaces, macAddress, before)) violations.add(`${vm} ${text}`)
    return surfaces
  }

  /** The spec has the ports of the model, and no agent is at work or about to be. */
  function assertSettled(vm: string, { config }: Surfaces): void {
    const requested = requestedPorts(model, vm).map(port => port.macAddress)
    const delivered = config?.spec.interfaces.map(nic => nic.macAddress) ?? []
    assert.deepEqual(delivered.toSorted(), requested.toSorted(), `${vm}: ports of the spec`)
    if (!config) return
    const { status, metadata } = config
    assert.equal(status?.observedGeneration, metadata.generation, `${vm}: generation`)
    const { state = '' } = status ?? {}
    assert.ok(paused.has(vm) || state === 'Configured' || state === 'Failed', `${vm} is ${state}`)
  }

  /** Lets an agent observe the node. Only a retry observes a node that failed. */
  async function checkNow(vm: string, { status }: NodeConfig): Promise<void> {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    const isCheckable = status?.state === 'Configured' || ready?.reason === 'Drifted'
    await (isCheckable ? answer('check', '--now', vm, '--timeout', '90s') : answer('retry', vm, '--timeout', '90s'))
  }

  async function settle(vm: string, violations: Set<string>): Promise<void> {
    const idle = await eventually(
      async () => {
        const surfaces = await observe(vm, violations)
        assertSettled(vm, surfaces)
        return surfaces
      },
      { within: settleMs, every: 200 },
    )
    if (idle.config && idle.config.spec.interfaces.length > 0 && !paused.has(vm)) await checkNow(vm, idle.config)
    // A paused node is not observed: its NICs keep the state of the last observation.
    const spread = await eventually(
      async () => {
        const surfaces = await observe(vm, violations)
        assertSettled(vm, surfaces)
        if (!paused.has(vm)) assert.deepEqual(contradictions(surfaces), [], vm)
        return surfaces
      },
      { within: spreadMs, every: 200 },
    )
    for (const nic of spread.config?.spec.interfaces ?? []) {
      const { macAddress, name = '' } = nic
      const isHealthy = matchesKernel(spread, nic) && Object.values(claimsOf(spread, nic)).every(Boolean)
      if (isHealthy) healthy.set(macAddress, { vm, name, ...recordedOf(spread, macAddress) })
    }
  }

  return {
    system,
    multinic,
    model,
    paused,
    config,
    answer,
    async step(work, touches = () => false, network) {
      const subnets = new Map([...model.ports.values()].map(({ macAddress, subnet }) => [macAddress, subnet]))
      healthy = new Map(
        [...healthy].flatMap(([macAddress, nic]) => {
          const getsNewRules = nic.vm === network?.vm && subnets.get(macAddress) === network.subnet
          return touches({ vm: nic.vm, macAddress }) ? [] : [[macAddress, { ...nic, getsNewRules }]]
        }),
      )
      const violations = new Set<string>()
      await work()
      for (const vm of vms()) await settle(vm, violations).catch(error => violations.add(messageOf(error)))
      if (violations.size === 0)
        await eventually(async () => assert.deepEqual(fleetContradictions(await readFleet(system, multinic)), []), {
          within: spreadMs,
          every: 200,
        }).catch(error => violations.add(messageOf(error)))
      assert.deepEqual([...violations], [])
    },
  }
}

function recordedOf({ record, config }: Surfaces, macAddress: string): Pick<HealthyNic, 'lastConfigured' | 'stages'> {
  const inConfig = config?.status?.interfaceStatuses?.find(nic => nic.macAddress === macAddress)
  const inInventory = record?.interfaces?.find(nic => nic.macAddress === macAddress)
  return { lastConfigured: inConfig?.lastConfigured, stages: inInventory?.stages }
}

/** What a step of a neighbour changed on a surface. */
function changesOf(surfaces: Surfaces, macAddress: string, before: HealthyNic): string[] {
  const nic = surfaces.config?.spec.interfaces.find(one => one.macAddress === macAddress)
  if (!nic) return [`${before.name}: its CR does not have it any more`]
  const denied = Object.entries(claimsOf(surfaces, nic)).filter(([, claim]) => !claim)
  const now = recordedOf(surfaces, macAddress)
  return [
    ...denied.map(
      ([surface]) => `${before.name}: ${surface} does not say as requested any more, by a step of a neighbour`,
    ),
    ...(now.lastConfigured === before.lastConfigured || before.getsNewRules
      ? []
      : [`${before.name}: lastConfigured moved from ${before.lastConfigured} to ${now.lastConfigured}`]),
    ...(isDeepStrictEqual(now.stages, before.stages)
      ? []
      : [`${before.name}: stages changed from ${JSON.stringify(before.stages)} to ${JSON.stringify(now.stages)}`]),
  ]
}

export function annotatePause(truth: Truth, name: string, value: 'true' | null): Promise<unknown> {
  return truth.system.sandbox.biz.kube.patch(
    nodeConfigs,
    { namespace, name },
    { metadata: { annotations: { [nodeConfigAnnotations.paused]: value } } },
  )
}
