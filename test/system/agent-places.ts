/**
 * What the agent plans on nodes of every kind, by place: the files of each backend, and the changes of the kernel.
 */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { hostPaths } from '../../src/agent/paths.ts'
import { planRun } from '../../src/agent/plan/plan.ts'
import { describeChange } from '../../src/agent/state/change.ts'
import type { Manager } from '../../src/agent/state/observed.ts'
import { aLink, aNode, settingsFrom } from '../../src/agent/test/agent.fixture.ts'
import type { Backend } from '../../src/contract/backend.ts'
import type { Interface } from '../../src/contract/interfaces.ts'
import { macAddress, older } from './neutron-stub.ts'

/** Where a value shows on a node: the files that every backend has, the files of each backend, the changes of the kernel. */
export const places = [
  ...(['common', 'netplan', 'networkd', 'networkmanager', 'ifcfg', 'ifcfg of NetworkManager'] as const),
  ...(['kernel'] as const),
]
export type Place = (typeof places)[number]

/** The text that appears in each place, in any case. `null`: the place does not depend on the field. */
export type Shown = Record<Place, string | null>

/** In the files of every backend and in the kernel. */
export const shown = (text: string, others: Partial<Shown> = {}): Shown => ({
  ...{
    common: null,
    netplan: text,
    networkd: text,
    networkmanager: text,
    ifcfg: text,
    'ifcfg of NetworkManager': text,
  },
  ...{ kernel: text, ...others },
})
export const nowhere: Shown = {
  ...{ common: null, netplan: null, networkd: null, networkmanager: null, ifcfg: null },
  ...{ 'ifcfg of NetworkManager': null, kernel: null },
}

/** The kinds of hosts that the agent tells apart, and what shows on each. */
export const hosts = {
  netplan: { env: 'netplan', managers: {}, places: ['common', 'netplan', 'networkd', 'kernel'] },
  NetworkManager: { env: 'networkmanager', managers: { 2: 'other' }, places: ['common', 'networkmanager', 'kernel'] },
  'ifcfg files': { env: 'ifcfg', managers: {}, places: ['common', 'ifcfg', 'kernel'] },
  'ifcfg files and NetworkManager': {
    ...{ env: 'ifcfg', managers: { 2: 'other' } },
    places: ['common', 'ifcfg of NetworkManager', 'kernel'],
  },
} as const satisfies Record<string, { env: Backend; managers: Record<number, Manager>; places: readonly Place[] }>
export const hostNames = Object.keys(hosts) as Host[]

export type Host = keyof typeof hosts
export type PlannedNode = Partial<Record<Place, string>>

/** What the agent plans for the NIC of the port, by place. */
export function configure(host: Host, interfaces: readonly Interface[]): PlannedNode {
  const { env, managers } = hosts[host]
  const nics = [macAddress, 'fa:16:3e:00:00:10', 'fa:16:3e:00:00:77']
  const links = nics.map((macAddress, n) => aLink({ ifindex: n + 3, name: `ens${n + 4}`, macAddress }))
  const node = aNode(3, { managers, directories: Object.values(hostPaths) })
  const plan = planRun({
    interfaces,
    nodeAddresses: ['10.0.0.10'],
    settings: settingsFrom({ MULTINIC_BACKEND: env }),
    paths: hostPaths,
    observed: { ...node, links: [...node.links.slice(0, 2), ...links] },
  })
  assert.deepEqual([[...plan.refused], plan.missing], [[], []])
  const unit = plan.units.find(({ macAddress }) => macAddress !== older['mac_address']) ?? assert.fail('no changes')
  const shared = plan.units.filter(({ purpose }) => purpose === 'node')
  const changes = [...unit.changes, ...shared.flatMap(each => each.changes)]
  const found: PlannedNode = {}
  const add = (place: Place, text: string) => {
    found[place] = `${found[place] ?? ''}${text}\n`
  }
  for (const change of changes) {
    if (change.kind === 'file') {
      const place = placeOf(change.path, host)
      if (place) add(place, `${change.path}\n${change.to?.text ?? ''}`)
    } else add('kernel', change.kind === 'nft' ? (change.to ?? '') : describeChange(change))
  }
  return found
}

/** The record of the agent is none: it configures nothing. */
function placeOf(path: string, host: Host): Place | undefined {
  const directory = dirname(path)
  if (directory.startsWith(hostPaths.state)) return undefined
  if (directory === hostPaths.netplan) return 'netplan'
  if (directory === hostPaths.networkManager) return 'networkmanager'
  if (directory === hostPaths.networkScripts) return host === 'ifcfg files' ? 'ifcfg' : 'ifcfg of NetworkManager'
  return path.endsWith('.network') ? 'networkd' : 'common'
}

/** Fails if a value does not show in a place where it must, or changes another place. */
export function showsOn(host: Host, node: Shown, before: PlannedNode, after: PlannedNode): void {
  for (const place of hosts[host].places) {
    const text = node[place]
    const where = `agent → ${place} on a node with ${host}`
    assert.ok(before[place], `${where}: nothing was found`)
    if (text === null) assert.equal(after[place], before[place], where)
    else {
      const has = (found = '') => found.toLowerCase().includes(text.toLowerCase())
      assert.ok(!has(before[place]), `${where}: ${text} was there before:\n${before[place]}`)
      assert.ok(has(after[place]), `${where}: ${text} is not in:\n${after[place]}`)
    }
  }
}
