/**
 * Does to the fleet what churn says, and knows what the fleet should come to.
 */

import { portsOf, removePort, type Server } from '../../sandbox/cloud/state.ts'
import type { ApiObject } from '../../sandbox/kube/json.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { nodes } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import type { Deed } from './churn.ts'
import type { Group, SoakStage } from './setup.ts'

/** A deleted OpenstackConfig waits for its nodes, and 15 minutes for a Viola that does not answer. */
const remakeWithin = 16 * 60_000

export interface Deeds {
  act(deed: Deed): Promise<void>
  /** All that takes longer has ended, or nobody waits any more. */
  done(signal: AbortSignal): Promise<void>
  /** What is not yet as people want it, or undefined. */
  restless(): string | undefined
}

export function createDeeds(stage: SoakStage): Deeds {
  const { world, groups, vms, shared, management, biz } = stage
  const away = new Set<string>()
  const remaking = new Map<string, Promise<void>>()
  const failures: unknown[] = []
  let boots = 1

  const groupOf = (vm: Server) => groups.find(group => group.vms.includes(vm)) ?? fail(`${vm.name} has no group`)
  const members = (group: Group) => group.vms.filter(({ id }) => !away.has(id))
  const allConfigs = () => [...biz.api.store.all(nodeConfigId)] as NodeConfigObject[]
  const configOf = (vm: Server) => allConfigs().find(({ spec }) => spec.instanceId === vm.id)

  async function remake(group: Group): Promise<void> {
    await asPerson(() => gone(management.kube.delete(openstackConfigs, { namespace, name: group.name })))
    await eventually(
      async () => {
        if (await management.kube.get(openstackConfigs, { namespace, name: group.name }))
          fail(`the deleted OpenstackConfig ${group.name} does not go`)
      },
      { within: remakeWithin, every: 500 },
    )
    await stage.makeConfig(group, members(group))
  }

  async function nameVms(group: Group): Promise<void> {
    // One that is being made again is made with them.
    if (remaking.has(group.name)) return
    const vmNames = members(group).map(({ id }) => id)
    await asPerson(() =>
      management.kube.patch(openstackConfigs, { namespace, name: group.name }, { spec: { vmNames } }),
    )
  }

  function vmAt(index: number): Server {
    return vms[index] ?? fail(`there is no VM ${index}`)
  }

  return {
    async act(deed) {
      if (failures.length > 0) throw failures[0]
      switch (deed.act) {
        case 'attach': {
          const vm = vmAt(deed.vm)
          const { subnet } = groupOf(vm)
          return stage.attach(vm, portsOf(world, vm).length % 2 ? subnet : shared)
        }
        case 'detach':
          return removePort(world, portsOf(world, vmAt(deed.vm)).at(-1)?.id ?? '')
        case 'rename': {
          const vm = vmAt(deed.vm)
          vm.name = vm.name.endsWith('-renamed') ? vm.name.replace(/-renamed$/, '') : `${vm.name}-renamed`
          return
        }
        case 'reboot': {
          const { id, name } = vmAt(deed.vm)
          const bootID = `boot-${++boots}`
          const nodeInfo = { systemUUID: id, bootID, osImage: 'Ubuntu 24.04 LTS' }
          return asPerson(() => biz.kube.patchStatus(nodes, { name: name.replace(/-renamed$/, '') }, { nodeInfo }))
        }
        case 'leave':
        case 'join': {
          const vm = vmAt(deed.vm)
          if (deed.act === 'leave') away.add(vm.id)
          else away.delete(vm.id)
          return nameVms(groupOf(vm))
        }
        case 'delete-node-config': {
          const name = configOf(vmAt(deed.vm))?.metadata.name
          if (name === undefined) return
          return asPerson(() => gone(biz.kube.delete(nodeConfigs, { namespace, name })))
        }
        case 'mtu': {
          const network = world.networks.get(groups[deed.group]?.subnet.networkId ?? '')
          if (network) network.mtu = deed.mtu
          return
        }
        case 'remake': {
          const group = groups[deed.group]
          if (!group || remaking.has(group.name)) return
          const work = remake(group).then(
            () => void remaking.delete(group.name),
            // Told by the next act, or by done().
            error => void failures.push(error),
          )
          remaking.set(group.name, work)
          return
        }
      }
    },
    async done(signal) {
      await Promise.race([Promise.all(remaking.values()), aborted(signal)])
      if (signal.aborted) return
      if (failures.length > 0) throw failures[0]
      // Whoever left or came while an object was made again.
      for (const group of groups) await nameVms(group)
    },
    restless() {
      const byVm = new Map(allConfigs().map(config => [config.spec.instanceId ?? '', config]))
      const ports = Map.groupBy(world.ports.values(), ({ deviceId }) => deviceId)
      for (const { id, name } of vms) {
        const config = byVm.get(id)
        if (away.has(id)) {
          if (config) return `${name} was taken out and still has a config`
          continue
        }
        const wanted = (ports.get(id) ?? []).map(port => `${port.id} ${world.networks.get(port.networkId)?.mtu}`).sort()
        const has = (config?.spec.interfaces ?? []).map(({ portId, mtu }) => `${portId} ${mtu}`).sort()
        if (wanted.join() !== has.join()) return `${name} has ${has.length} of ${wanted.length} interfaces as wanted`
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
  }
}

export const nodeConfigId = `${nodeConfigs.group}/${nodeConfigs.plural}`
export const openstackConfigId = `${openstackConfigs.group}/${openstackConfigs.plural}`
type NodeConfigObject = ApiObject & Pick<NodeConfig, 'spec' | 'status'>
type OpenstackConfigObject = ApiObject & { status?: { conditions?: NonNullable<NodeConfig['status']>['conditions'] } }

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** Somebody else may have been quicker. */
async function gone(deleted: Promise<unknown>): Promise<void> {
  await deleted.catch(error => {
    if (!isNotFound(error)) throw error
  })
}

/** Whoever types while connections break tries again. */
async function asPerson(work: () => Promise<unknown>): Promise<void> {
  await eventually(work, { within: 60_000, every: 500 })
}

function fail(words: string): never {
  throw new Error(words)
}
