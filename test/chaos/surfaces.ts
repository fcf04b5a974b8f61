/**
 * What every surface says about a node beside what its kernel says: the MultiNicNodeConfig, the inventory API, the commands
 * `status` and `check`, and the view model of the dashboard.
 */
import assert from 'node:assert/strict'
import type { NodeView, ProviderView } from '../../src/cli/status.ts'
import type { Deviation, InventoryRecord } from '../../src/contract/inventory.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import { stages } from '../../src/contract/stages.ts'
import { countsOf, type Node, nodeOf } from '../../web/model/nodes.ts'
import type { Run } from '../support/cli.ts'
import type { NicState, TestSandbox } from '../system/sandbox.fixture.ts'

/** Undefined: the surface does not know the node. */
export interface Surfaces {
  /** Time of the reading. */
  at: number
  kernel: NicState[]
  config: NodeConfig | undefined
  record: InventoryRecord | undefined
  /** Of this node. */
  deviations: Deviation[]
  status: NodeView | undefined
  check: Deviation[]
  dashboard: Node | undefined
}

/** In the order in which a state spreads backwards: a surface that is read later may only be newer. */
export async function readSurfaces(system: TestSandbox, multinic: Run, vm: string): Promise<Surfaces> {
  const { urls, biz } = system.sandbox
  const get = async <T>(path: string): Promise<T | undefined> => {
    const { status, body } = await system.call(`${urls['inventory']}/v1/inventory/${path}`)
    assert.ok(status === 200 || status === 404, `${path}: ${status}`)
    return status === 200 ? (body as T) : undefined
  }
  const json = async <T>(...args: string[]): Promise<T | undefined> => {
    const { out, code, error } = await multinic(...args, '-o', 'json')
    assert.ok(code === 0 || code === 1, error)
    return out === '' ? undefined : (JSON.parse(out) as T)
  }
  const ofNode = (all: Deviation[] | undefined) => (all ?? []).filter(({ nodeName }) => nodeName === vm)
  const status = (await json<{ providers: ProviderView[] }>('status', vm))?.providers[0]?.configs[0]?.nodes[0]
  const check = ofNode(await json<Deviation[]>('check'))
  const deviations = ofNode(await get<Deviation[]>('deviations'))
  const record = await get<InventoryRecord>(`node-configs/${vm}`)
  const config = await biz.kube.get(nodeConfigs, { namespace: 'multinic-system', name: vm })
  const { nics: kernel } = await system.nodeState(vm)
  const dashboard = record && nodeOf(record, deviations)
  return { at: Date.now(), kernel, config, record, deviations, status, check, dashboard }
}

type WantedNic = NodeConfig['spec']['interfaces'][number]

/** The NIC of the port in the kernel. */
export function kernelNic({ kernel }: Surfaces, { macAddress }: Pick<WantedNic, 'macAddress'>): NicState | undefined {
  return kernel.find(nic => nic.macAddress === macAddress)
}

export function matchesKernel(surfaces: Surfaces, nic: WantedNic): boolean {
  const found = kernelNic(surfaces, nic)
  return (
    found !== undefined &&
    found.name === nic.name &&
    found.mtu === nic.mtu &&
    found.up &&
    found.addresses.includes(`${nic.address}/24`)
  )
}

/** Whether each surface says that the NIC is as requested. */
export function claimsOf(surfaces: Surfaces, { name, macAddress }: WantedNic): Record<string, boolean> {
  const { config, record, deviations, status, check, dashboard } = surfaces
  const isReady = (nic: { status?: string | undefined; pending?: unknown } | undefined) =>
    nic?.status === 'Configured' && nic.pending === undefined
  const isListed = ({ interface: nic }: Deviation) => nic === name
  return {
    'the CR': isReady(config?.status?.interfaceStatuses?.find(nic => nic.macAddress === macAddress)),
    'the inventory': isReady(record?.interfaces?.find(nic => nic.macAddress === macAddress)),
    'the list of deviations': record !== undefined && !deviations.some(isListed),
    'multinic status': isReady(status?.interfaces.find(nic => nic.name === name)),
    'multinic check': record !== undefined && !check.some(isListed),
    'the dashboard': dashboard?.nics.find(nic => nic.name === name)?.severity === 'configured',
  }
}

/** After a check: what any surface says and the kernel denies, or the other way round. */
export function contradictions(surfaces: Surfaces): string[] {
  const { config, record, status, dashboard } = surfaces
  if (!config) return dashboard && dashboard.nics.length > 0 ? ['the dashboard shows NICs of a node without a CR'] : []
  const wanted = config.spec.interfaces
  const matching = wanted.filter(nic => matchesKernel(surfaces, nic)).length
  const found = wanted.flatMap(nic => {
    const matches = matchesKernel(surfaces, nic)
    const kernel = JSON.stringify(kernelNic(surfaces, nic) ?? 'no such NIC')
    const claims = Object.entries(claimsOf(surfaces, nic))
      .filter(([, claim]) => claim !== matches)
      .map(([surface, claim]) => `${surface} says ${claim ? '' : 'not '}as requested`)
    return [...claims, ...observationErrors(surfaces, nic)].map(text => `${nic.name}: ${text}; ip says ${kernel}`)
  })
  const counts: Record<string, [string | undefined, string]> = {
    'the NICs of the CR': [config.status?.nics, `${matching}/${wanted.length}`],
    'the NICs of the inventory': [`${record?.config.interfaces.length ?? 0}`, `${wanted.length}`],
    'the NICs of multinic status': [`${status?.interfaces.length ?? 0}`, `${wanted.length}`],
  }
  if (dashboard) {
    const { configured, nics } = countsOf([dashboard])
    counts['the NICs of the dashboard'] = [`${configured}/${nics}`, `${matching}/${wanted.length}`]
  }
  const wrong = Object.entries(counts).filter(([, [is, expected]]) => is !== expected)
  return [...found, ...wrong.map(([what, [is, expected]]) => `${what} are ${is}, expected ${expected}`)]
}

/** Observed values that differ from the kernel. */
export function observationErrors(surfaces: Surfaces, nic: WantedNic): string[] {
  const { config, record, dashboard } = surfaces
  const kernel = kernelNic(surfaces, nic)
  const observations = {
    'the CR': config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
    'the inventory': record?.interfaces?.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
    'the dashboard': dashboard?.nics.find(({ macAddress }) => macAddress === nic.macAddress)?.observed,
  }
  return Object.entries(observations).flatMap(([surface, observed]) => {
    if (!observed || !kernel) return []
    const { name, mtu, link, addresses = [] } = observed
    const isSame =
      name === kernel.name &&
      mtu === kernel.mtu &&
      (link === 'up') === kernel.up &&
      kernel.addresses.every(address => addresses.includes(address))
    return isSame ? [] : [`${surface} observed ${JSON.stringify(observed)}`]
  })
}

/** What can never be right, whatever is in progress. */
export function impossibilities({ at, config, record }: Surfaces): string[] {
  const found: string[] = []
  for (const nic of record?.interfaces ?? []) {
    const times = stages.flatMap(stage => nic.stages?.[stage] ?? [])
    if (times.some((time, index) => Date.parse(time) < Date.parse(times[index - 1] ?? time)))
      found.push(`${nic.name}: stages in the order ${times.join()}`)
    const inConfig = config?.status?.interfaceStatuses?.find(({ macAddress }) => macAddress === nic.macAddress)
    for (const [surface, time] of [
      ['the inventory', nic.lastChecked],
      ['the CR', inConfig?.lastChecked],
    ])
      if (time !== undefined && Date.parse(time) > at) found.push(`${nic.name}: ${surface} was checked in the future`)
    if (nic.lastChecked && inConfig?.lastChecked && nic.lastChecked > inConfig.lastChecked)
      found.push(`${nic.name}: the inventory has an observation that the CR does not have`)
  }
  return found
}
