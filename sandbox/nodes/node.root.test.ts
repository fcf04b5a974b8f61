import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { silent } from '../../src/telemetry/log.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  removePort,
  type Subnet,
} from '../cloud/state.ts'
import { ipBatch, ipJson, run } from '../exec.ts'
import { makeStateDir, type StateDir, stateDir, stopAndRemove } from '../lifecycle/state-dir.ts'
import { file } from './container.ts'
import { createFabric, type Fabric } from './fabric.ts'
import { createNode, type SandboxNode } from './node.ts'

let state: StateDir
let cloudState: CloudState
let fabric: Fabric
let storage: Subnet
let nodes: SandboxNode[]

before(async () => {
  state = stateDir(await mkdtemp(join(tmpdir(), 'multinic-nodes-')))
  await makeStateDir(state)
  cloudState = createCloudState()
  fabric = await createFabric(state)
  const home = addSubnet(cloudState, { name: 'nodes', cidr: '10.0.0.0/24', mtu: 1500 })
  storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  for (const { id, cidr, gatewayIp, networkId } of [home, storage])
    await fabric.addSubnet({ id, cidr, gatewayIp, mtu: cloudState.networks.get(networkId)?.mtu ?? 1500 })
  nodes = []
  for (const name of ['worker-1', 'worker-2']) {
    const server = addServer(cloudState, name)
    const primary = addPort(cloudState, { server, subnet: home })
    nodes.push(await createNode({ state, cloudState, fabric, server, primary, nicDelayMs: () => 0, log: silent }))
  }
})

after(async () => {
  await stopAndRemove(state)
  assert.deepEqual(
    (await readdir('/run/netns')).filter(name => name.startsWith(state.prefix)),
    [],
  )
  assert.equal(existsSync(state.dir), false)
})

interface Link {
  ifname: string
  address: string
  mtu: number
  operstate: string
}

const linksOf = async (node: SandboxNode) =>
  (await ipJson<Link>(node.namespace, ['link', 'show'])).filter(link => link.ifname !== 'lo')
const at = (index: number) => nodes[index] ?? assert.fail(`no node ${index}`)
const inNode = (node: SandboxNode, ...command: string[]) =>
  run('nsenter', [`--net=/run/netns/${node.namespace}`, ...command])

test('a node has a primary NIC with a default route and reaches its gateway and the other node', async () => {
  const [first, second] = [at(0), at(1)]
  assert.deepEqual(
    (await linksOf(first)).map(link => link.ifname),
    ['ens3'],
  )
  const routes = await ipJson<{ dst: string; dev: string }>(first.namespace, ['route', 'show', 'default'])
  assert.deepEqual(
    routes.map(route => [route.dst, route.dev]),
    [['default', 'ens3']],
  )
  for (const address of ['10.0.0.1', second.address]) await inNode(first, 'ping', '-c1', '-W2', address)
})

test('NICs follow the ports of the VM, each in its own slot', async () => {
  const node = at(0)
  const first = addPort(cloudState, { server: node.server, subnet: storage })
  const second = addPort(cloudState, { server: node.server, subnet: storage })
  assert.equal(first.status, 'DOWN')
  await node.syncNics()
  assert.equal(first.status, 'ACTIVE')
  assert.deepEqual(
    (await linksOf(node)).map(({ ifname, address, operstate }) => [ifname, address, operstate]).slice(1),
    [
      ['ens4', first.macAddress, 'DOWN'],
      ['ens5', second.macAddress, 'DOWN'],
    ],
  )
  removePort(cloudState, first.id)
  await node.syncNics()
  assert.deepEqual(
    (await linksOf(node)).map(link => link.ifname),
    ['ens3', 'ens5'],
  )
  removePort(cloudState, second.id)
  await node.syncNics()
})

test('a reboot creates unconfigured NICs and a new boot id, and applies only the files of the node', async () => {
  const node = at(1)
  const port = addPort(cloudState, { server: node.server, subnet: storage })
  const bare = addPort(cloudState, { server: node.server, subnet: storage })
  await node.syncNics()
  await ipBatch(node.namespace, ['link set ens4 name multinic7', 'rule add from 1.2.3.4 lookup 107 priority 9'])
  const address = port.fixedIps[0]?.ipAddress
  await writeFile(
    join(node.root, 'etc/systemd/network/05-multinic0.link'),
    `[Match]\nMACAddress=${port.macAddress}\n\n[Link]\nName=multinic0\n`,
  )
  await writeFile(
    join(node.root, 'etc/netplan/90-multinic0.yaml'),
    `network:
  version: 2
  ethernets:
    multinic0:
      match: {macaddress: "${port.macAddress}"}
      set-name: multinic0
      mtu: 9000
      link-local: []
      addresses: ["${address}/24"]
      routes:
        - {to: 10.10.0.0/24, table: 100, scope: link, from: "${address}"}
        - {to: 0.0.0.0/0, via: 10.10.0.1, table: 100, metric: 100}
      routing-policy:
        - {from: "${address}/32", table: 100, priority: 10100}
`,
  )
  await writeFile(join(node.root, 'etc/sysctl.d/90-multinic0.conf'), 'net.ipv4.conf.multinic0.arp_ignore = 1\n')
  const before = node.bootID
  await node.reboot()

  assert.notEqual(node.bootID, before)
  assert.equal((await readFile(join(node.root, 'proc/sys/kernel/random/boot_id'), 'utf8')).trim(), node.bootID)
  assert.deepEqual(
    (await linksOf(node)).map(({ ifname, address, mtu, operstate }) => [ifname, address, mtu, operstate]).slice(1),
    [
      ['multinic0', port.macAddress, 9000, 'UP'],
      ['ens5', bare.macAddress, 1500, 'DOWN'],
    ],
  )
  const table = await ipJson<{ dst: string; protocol: string }>(node.namespace, ['route', 'show', 'table', '100'])
  assert.deepEqual(
    table.map(route => [route.dst, route.protocol]),
    [
      ['default', 'static'],
      ['10.10.0.0/24', 'static'],
    ],
  )
  const rules = await ipJson<{ priority: number; src: string }>(node.namespace, ['rule', 'show'])
  assert.deepEqual(
    rules.filter(rule => ![0, 32766, 32767].includes(rule.priority)).map(rule => [rule.priority, rule.src]),
    [[10100, address]],
  )
  assert.equal((await inNode(node, 'cat', '/proc/sys/net/ipv4/conf/multinic0/arp_ignore')).trim(), '1')
  await inNode(node, 'ping', '-c1', '-W2', '-I', address ?? '', '10.10.0.1')
})

test('a reboot restores what all NICs share, and a line that fails does not stop the others', async () => {
  const node = at(1)
  const rules = ['[Match]', 'Name=multinic0', '', '[RoutingPolicyRule]', 'Family=ipv4', 'FirewallMark=0x8/0x78']
  const files = {
    'etc/systemd/network/05-multinic0.network': [...rules, 'Table=100', 'Priority=10000', ''].join('\n'),
    'etc/systemd/system/multinic-nft.service': '',
    'etc/systemd/system/multinic-primary.service': '',
    'etc/multinic/multinic.nft': 'table ip multinic {\n\tchain c {\n\t}\n}\n',
    'etc/multinic/primary-routes.batch': [
      'route replace 10.10.0.0/24 via 10.0.0.1 dev absent table 110',
      'route replace 10.10.0.0/24 via 10.0.0.1 dev ens3 table 110 onlink protocol 2',
    ].join('\n'),
    'etc/multinic/primary-rules.batch':
      'rule add from 0.0.0.0/0 fwmark 0x58/0x78 lookup 110 priority 10010 protocol 2\n',
    'etc/multinic/primary-rules6.batch': 'rule add from ::/0 fwmark 0x58/0x78 lookup 110 priority 10011 protocol 2\n',
  }
  for (const [path, text] of Object.entries(files)) await writeFile(join(node.root, path), text)
  await node.reboot()
  const marks = async (family: string) => {
    const all = await ipJson<{ priority: number; fwmark?: string }>(node.namespace, [family, 'rule', 'show'])
    return all.flatMap(({ priority, fwmark }) => (fwmark ? [`${priority} ${fwmark}`] : []))
  }
  assert.deepEqual([await marks('-4'), await marks('-6')], [['10000 0x8', '10010 0x58'], ['10011 0x58']])
  const table = await ipJson<{ dst: string; dev: string }>(node.namespace, ['route', 'show', 'table', '110'])
  assert.deepEqual(
    table.map(route => [route.dst, route.dev]),
    [['10.10.0.0/24', 'ens3']],
  )
  assert.match(await inNode(node, 'nft', 'list', 'tables'), /^table ip multinic$/m)
})

test('a reboot ends the containers that are starting', async () => {
  const node = at(0)
  // Each mount delays the start: the containers enter the node before, during and after the removal of its namespace.
  const ended: number[] = []
  for (const index of [0, 1, 2, 3])
    node
      .start({
        dir: state.path('containers', String(index)),
        spec: { containers: [] },
        ...{ command: ['/bin/sleep', '60'], env: {}, capabilities: [], terminationMessagePath: '/dev/termination-log' },
        mounts: Array.from({ length: 30 * index }, (_, mount) => file('/dev/null', `/mounts/${mount}`)),
      })
      .then(async running => {
        await running.ended
        ended.push(index)
      })
  await node.reboot()
  await eventually(() => assert.deepEqual(ended.toSorted(), [0, 1, 2, 3]))
})
