/**
 * Applies the actions of the churn to the fleet, and compares the fleet with the requested state.
 */

import { portsOf, removePort, type Server } from '../../sandbox/cloud/state.ts'
import type { ApiObject } from '../../sandbox/kube/json.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { nodes } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import type { Action } from './churn.ts'
import type { RecordedVm } from './database.ts'
import type { Group, SoakSetup } from './setup.ts'

/** The deletion of an OpenstackConfig waits for its nodes, and up to 15 minutes for a Viola that does not answer. */
const recreateWithin = 16 * 60_000

export interface FleetActions {
  run(action: Action): Promise<void>
  /** Waits for the actions that take longer, or for the signal. */
  finish(signal: AbortSignal): Promise<void>
  /** The first deviation from the requested state, or undefined. */
  findDeviation(): string | undefined
  /** The first difference of the inventory, which has this for each VM ID, or undefined. */
  findLoss(recorded: ReadonlyMap<string, RecordedVm>): string | undefined
}

export function createActions(setup: SoakSetup): FleetActions {
  const { cloudState, groups, vms, shared, management, biz } = setup
  const excluded = new Set<string>()
  const recreations = new Map<string, Promise<void>>()
  const failures: unknown[] = []
  let boots = 1

  const groupOf = (vm: Server) => groups.find(group => group.vms.includes(vm)) ?? fail(`${vm.name} has no group`)
  const members = (group: Group) => group.vms.filter(({ id }) => !excluded.has(id))
  const allConfigs = () => [...biz.api.store.all(nodeConfigId)] as NodeConfigObject[]
  const configOf = (vm: Server) => allConfigs().find(({ spec }) => spec.instanceId === vm.id)

  async function recreate(group: Group): Promise<void> {
    await untilItSucceeds(() =>
      ignoreNotFound(management.kube.delete(openstackConfigs, { namespace, name: group.name })),
    )
    await eventually(
      async () => {
        if (await management.kube.get(openstackConfigs, { namespace, name: group.name }))
          fail(`OpenstackConfig ${group.name} was deleted but still exists`)
      },
      { within: recreateWithin, every: 500 },
    )
    await setup.createConfig(group, members(group))
  }

  async function writeVmNames(group: Group): Promise<void> {
    // An OpenstackConfig that is being recreated gets the VMs of that moment.
    if (recreations.has(group.name)) return
    const vmNames = members(group).map(({ id }) => id)
    await untilItSucceeds(() =>
      management.kube.patch(openstackConfigs, { namespace, name: group.name }, { spec: { vmNames } }),
    )
  }

  function vmAt(index: number): Server {
    return vms[index] ?? fail(`no VM with index ${index}`)
  }

  return {
    async run(action) {
      if (failures.length > 0) throw failures[0]
      switch (action.kind) {
        case 'attach': {
          const vm = vmAt(action.vm)
          const { subnet } = groupOf(vm)
          return setup.attach(vm, portsOf(cloudState, vm).length % 2 ? subnet : shared)
        }
        case 'detach':
          return removePort(cloudState, portsOf(cloudState, vmAt(action.vm)).at(-1)?.id ?? '')
        case 'rename': {
          const vm = vmAt(action.vm)
          vm.name = vm.name.endsWith('-renamed') ? vm.name.replace(/-renamed$/, '') : `${vm.name}-renamed`
          return
        }
        case 'reboot': {
          const { id, name } = vmAt(action.vm)
          const bootID = `boot-${++boots}`
          const nodeInfo = { systemUUID: id, bootID, osImage: 'Ubuntu 24.04 LTS' }
          return untilItSucceeds(() =>
            biz.kube.patchStatus(nodes, { name: name.replace(/-renamed$/, '') }, { nodeInfo }),
          )
        }
        case 'exclude-vm':
        case 'include-vm': {
          const vm = vmAt(action.vm)
          if (action.kind === 'exclude-vm') excluded.add(vm.id)
          else excluded.delete(vm.id)
          return writeVmNames(groupOf(vm))
        }
        case 'delete-node-config': {
          const name = configOf(vmAt(action.vm))?.metadata.name
          if (name === undefined) return
          const annotations = { [nodeConfigAnnotations.approveDeletions]: `${Math.floor(Date.now() / 1_000)}` }
          await untilItSucceeds(() =>
            ignoreNotFound(biz.kube.patch(nodeConfigs, { namespace, name }, { metadata: { annotations } })),
          )
          return untilItSucceeds(() => ignoreNotFound(biz.kube.delete(nodeConfigs, { namespace, name })))
        }
        case 'mtu': {
          const network = cloudState.networks.get(groups[action.group]?.subnet.networkId ?? '')
          if (network) network.mtu = action.mtu
          return
        }
        case 'recreate': {
          const group = groups[action.group]
          if (!group || recreations.has(group.name)) return
          const work = recreate(group).then(
            () => void recreations.delete(group.name),
            // The next run() or finish() throws it.
            error => void failures.push(error),
          )
          recreations.set(group.name, work)
          return
        }
      }
    },
    async finish(signal) {
      await Promise.race([Promise.all(recreations.values()), aborted(signal)])
      if (signal.aborted) return
      if (failures.length > 0) throw failures[0]
      // VMs may have been excluded or included during a recreation.
      for (const group of groups) await writeVmNames(group)
    },
    findDeviation() {
      const byVm = new Map(allConfigs().map(config => [config.spec.instanceId ?? '', config]))
      const ports = Map.groupBy(cloudState.ports.values(), ({ deviceId }) => deviceId)
      for (const { id, name } of vms) {
        const config = byVm.get(id)
        if (excluded.has(id)) {
          if (config) return `${name} is excluded and still has a node config`
          continue
        }
        const requested = (ports.get(id) ?? [])
          .map(port => `${port.id} ${cloudState.networks.get(port.networkId)?.mtu}`)
          .sort()
        const delivered = (config?.spec.interfaces ?? []).map(({ portId, mtu }) => `${portId} ${mtu}`).sort()
        if (requested.join() !== delivered.join())
          return `${name} has ${delivered.length} of ${requested.length} requested interfaces, or another MTU`
        const { state, observedGeneration } = config?.status ?? {}
        if (state !== 'Configured' || observedGeneration !== config?.metadata.generation)
          return `${name} is ${state ?? 'unknown'}: ${config?.status?.conditions?.[0]?.message}`
      }
      for (const config of management.api.store.all(openstackConfigId) as Iterable<OpenstackConfigObject>) {
        const ready = config.status?.conditions?.find(({ type }) => type === 'Ready')
        if (ready?.status !== 'True') return `${config.metadata.name} is not Ready: ${ready?.reason} ${ready?.message}`
      }
      return undefined
    },
    findLoss(recorded) {
      for (const vm of vms) {
        const [known, isExcluded] = [recorded.get(vm.id), excluded.has(vm.id)]
        if (isExcluded && known) return `${vm.name} is excluded and still in the inventory`
        if (isExcluded) continue
        const ports = portsOf(cloudState, vm).map(({ id }) => id)
        if (known === undefined) return `${vm.name} is not in the inventory`
        const { nodes, portIds } = known
        if (nodes.length > 1) return `${vm.name} is ${nodes.join(' and ')} in the inventory`
        if (portIds.toSorted().join() !== ports.toSorted().join())
          return `${vm.name} has ${portIds.length} ports in the inventory, not its ${ports.length} ports`
      }
      return undefined
    },
  }
}

export const nodeConfigId = `${nodeConfigs.group}/${nodeConfigs.plural}`
export const openstackConfigId = `${openstackConfigs.group}/${openstackConfigs.plural}`
type NodeConfigObject = ApiObject & Pick<NodeConfig, 'spec' | 'status'>
type OpenstackConfigObject = ApiObject & { status?: { conditions?: NonNullable<NodeConfig['status']>['conditions'] } }

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** The object may be gone already. */
async function ignoreNotFound(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch(error => {
    if (!isNotFound(error)) throw error
  })
}

/** A user repeats a command while connections break. */
async function untilItSucceeds(work: () => Promise<unknown>): Promise<void> {
  await eventually(work, { within: 60_000, every: 500 })
}

function fail(message: string): never {
  throw new Error(message)
}
