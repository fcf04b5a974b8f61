/**
 * What happens to a judged operator: changes of the cloud (cloud-operations.ts), of objects and of nodes, faults, restarts and
 * kills, and how long each lasts. Drawn from the seed and from what the judge itself did, never from what the operator did.
 */
import { noFaults } from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { type NodeConfigStatus, nodeConfigs } from '../../src/contract/node-config.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigs,
} from '../../src/contract/openstack-config.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { nodes, secrets } from '../../src/kube/resources.ts'
import { readyNode } from '../support/controller-scale.ts'
import { createCloudOperations, serverNames } from './cloud-operations.ts'
import { drawsOf, type Operations } from './draws.ts'
import { clusterIds, clusterNamespaces, type JudgedOperator } from './judged-operator.ts'

export interface Player {
  /** Creates the first objects. */
  begin(): Promise<void>
  /** Plays the next operation, and returns its description. */
  play(): Promise<string>
}

const configNames = ['main', 'selected'] as const
const namespace = clusterNamespaces[0]
const settings = { pollFastInterval: '1s', pollSlowInterval: '4s', pollErrorInterval: '1s', pollFastWindow: '10s' }

export function createPlayer(judged: JudgedOperator, seed: number): Player {
  const { cloudState, kube, recorder } = judged
  const draws = drawsOf(seed)
  const { below, pick, chance } = draws
  const inCloud = createCloudOperations(judged, draws, seed)
  const { servers, subnets, ports, newId } = inCloud
  const ignoringMissing = async (work: Promise<unknown>) => {
    try {
      await work
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  const patch = (name: string, change: object) =>
    ignoringMissing(kube.patch(openstackConfigs, { namespace, name }, change))
  const annotate = async (name: string, annotation: string, value: string) => {
    await patch(name, { metadata: { annotations: { [annotation]: value } } })
    return `${name} ${value}`
  }

  async function create(name: (typeof configNames)[number]): Promise<void> {
    const selected = subnets().slice(0, 2)
    const base = openstackConfigFor(cloudState, {
      ...{ name, vmNames: [], subnetIDs: selected.map(({ id }) => id), clusterId: clusterIds[name === 'main' ? 0 : 1] },
    })
    const { subnetIDs: _, vmNames: __, ...spec } = base.spec
    const chosen: Partial<OpenstackConfig['spec']> =
      name === 'main'
        ? {
            subnetIDs: selected.map(({ id }) => id),
            vmNames: servers()
              .slice(0, 3)
              .map(({ id }) => id),
          }
        : {
            subnets: subnets()
              .slice(1)
              .map(({ id }, index) => ({ id, index: 4 + index, alias: `net-${index}` })),
            vmSelector: { namePattern: 'worker-*', tags: ['multinic'] },
          }
    const config = { ...base, spec: { ...spec, ...chosen, settings: { ...spec.settings, ...settings } } }
    await kube.create(openstackConfigs, config).catch(() => 'exists already')
  }

  /** As the controller would. */
  async function report(state: NonNullable<NodeConfigStatus['state']>): Promise<string> {
    for (const at of clusterNamespaces)
      for (const { metadata, spec } of (await kube.list(nodeConfigs, { namespace: at })).items) {
        const lastChecked = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
        const reason = state === 'Failed' ? 'ApplyFailed' : state === 'Configured' ? 'Configured' : 'Applying'
        const interfaceStatuses = spec.interfaces.map(({ id, name, portId, macAddress }) => ({
          ...({ id, name, portId, macAddress, status: state, reason, message: '', lastChecked } as object),
        }))
        await kube.patchStatus(
          nodeConfigs,
          { namespace: at, name: metadata.name },
          {
            ...{ observedGeneration: metadata.generation, observedSpecHash: spec.specHash, state, interfaceStatuses },
            nics: `${state === 'Configured' ? spec.interfaces.length : 0}/${spec.interfaces.length}`,
          },
        )
      }
    return state
  }

  async function setKey(key: string): Promise<string> {
    const data = { CONTRABASS_ENCRYPT_KEY: Buffer.from(key).toString('base64') }
    await kube.patch(secrets, { namespace, name: 'contrabass-encrypt-key' }, { data })
    return key
  }

  const operations: Operations = {
    ...inCloud.operations,
    'edit an object': [
      4,
      async () => {
        const change = pick<object>([
          {
            vmNames: servers()
              .slice(0, 1 + below(4))
              .map(({ id }) => id),
          },
          { vmNames: [pick(serverNames), pick(serverNames)] },
          {
            subnetIDs: subnets()
              .slice(0, 1 + below(3))
              .map(({ id }) => id),
          },
          { deletionPolicy: pick(['Delete', 'Retain']) },
          { settings: { openstackPortAllowedStatuses: pick([['ACTIVE'], ['ACTIVE', 'DOWN'], ['*']]) } },
          { settings: { violaTimeout: pick(['1s', '30s', 'soon']) } },
        ])
        await patch('main', { spec: change }).catch(() => 'refused')
        return JSON.stringify(change)
      },
    ],
    'delete or create an object': [
      2,
      async () => {
        const name = pick(configNames)
        if (chance(0.4)) await ignoringMissing(kube.delete(openstackConfigs, { namespace, name }))
        else await create(name)
        return name
      },
    ],
    'approve removals': [
      5,
      () => annotate(pick(configNames), openstackConfigAnnotations.approveRemovals, `release-${newId()}`),
    ],
    'force a sync': [
      2,
      () => annotate(pick(configNames), openstackConfigAnnotations.forceReconcile, `force-${newId()}`),
    ],
    renumber: [
      2,
      () => {
        const moves = ports()
          .slice(0, 2)
          .flatMap(({ id: portId, deviceId }) => {
            const nodeName = cloudState.servers.get(deviceId)?.name
            return nodeName ? [{ nodeName, portId, to: `multinic${below(10)}` }] : []
          })
        return annotate('main', openstackConfigAnnotations.renumber, JSON.stringify({ requestedAt: newId(), moves }))
      },
    ],
    'report Configured': [10, () => report('Configured')],
    'report a failure': [2, () => report('Failed')],
    'report progress': [2, () => report('InProgress')],
    'edit or delete a node config by hand': [
      2,
      async () => {
        const [at, name] = [pick(clusterNamespaces), pick(serverNames)]
        if (chance(0.5)) await ignoringMissing(kube.delete(nodeConfigs, { namespace: at, name }))
        else await ignoringMissing(kube.patch(nodeConfigs, { namespace: at, name }, { spec: { interfaces: [] } }))
        return `${at}/${name}`
      },
    ],
    'change the key of Contrabass': [
      1,
      () => setKey(chance(0.4) ? 'wrong-key-012345' : cloudState.provider.encryptKey),
    ],
    'a service fails': [
      8,
      () => {
        const service = pick(['kubernetes', 'viola', 'inventory'])
        const fault = pick(['down', 'unavailable', 'forbidden', 'conflict', 'lost'] as const)
        recorder.faults.set(service, fault)
        return `${service} ${fault}`
      },
    ],
    'streams end': [
      2,
      () => {
        const service = pick(['kubernetes', 'viola'])
        recorder.cutStreams(service)
        return service
      },
    ],
    restart: [
      2,
      async () => {
        await judged.stop()
        const ms = chance(0.2) ? 660_000 : 100
        await judged.pass(ms)
        await judged.start()
        return `after ${ms} ms`
      },
    ],
    kill: [
      3,
      () => {
        const write = pick([
          /^viola POST/,
          /^viola DELETE/,
          /^kubernetes PATCH .*\/status/,
          /^kubernetes POST/,
          /^inventory/,
        ])
        const trigger = { write, when: pick(['before', 'after'] as const) }
        recorder.trigger = { ...trigger, fire: judged.kill }
        return `${trigger.when} ${write}`
      },
    ],
    wait: [4, () => {}],
  }
  function endFaults(): void {
    Object.assign(cloudState.faults, noFaults)
    recorder.faults.clear()
  }

  return {
    async begin() {
      for (const name of ['storage', 'backup', 'other']) inCloud.newSubnet(name)
      for (const name of serverNames.slice(0, 4)) {
        const server = inCloud.newServer(name)
        await kube.create(nodes, readyNode(name, server.id))
        inCloud.attach(server, pick(subnets()))
      }
      await judged.start()
      for (const name of configNames) await create(name)
      await judged.pass(5_000)
    },
    async play() {
      if (chance(0.4)) endFaults()
      const [name, act] = draws.operation(operations)
      const detail = await act()
      const ms = chance(0.02) ? 20_000 : chance(0.001) ? 660_000 : 200 + below(2_800)
      await judged.pass(ms)
      recorder.trigger = undefined
      if (!judged.isRunning()) await judged.start()
      else if (name === 'kill') {
        judged.kill()
        await judged.start()
      }
      await judged.pass(1_000)
      return `${name}${typeof detail === 'string' ? `: ${detail}` : ''}, then ${ms} ms`
    },
  }
}
