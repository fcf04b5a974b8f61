/**
 * Conformance of sandbox nodes: the same cases run on network namespaces of this kernel and on the simulated machine. They
 * run the real agent and read the result back with `ip`.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  type Port,
  removePort,
  type Subnet,
} from '../../sandbox/cloud/state.ts'
import { makeStateDir, type StateDir, stateDir, stopAndRemove } from '../../sandbox/lifecycle/state-dir.ts'
import { createFabric, type Fabric, fabricLinkOf, serviceAddress } from '../../sandbox/nodes/fabric.ts'
import type { Machine } from '../../sandbox/nodes/machine.ts'
import { createNode, type SandboxNode } from '../../sandbox/nodes/node.ts'
import type { Image } from '../../sandbox/nodes/pod-worker.ts'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import type { PodSpec } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'

export interface HostImplementation {
  machine(state: StateDir): Machine
  image(): Promise<Image>
}

type RequestedInterface = AgentInput['interfaces'][number]

/** The mounts of the controller's Job. */
const mounted: [path: string, target: string][] = [
  ['/etc/netplan', '/etc/netplan'],
  ['/etc/systemd/network', '/etc/systemd/network'],
  ['/etc/sysctl.d', '/etc/sysctl.d'],
  ['/etc/udev/rules.d', '/etc/udev/rules.d'],
  ['/etc/multinic', '/etc/multinic'],
  ['/etc/systemd/system', '/etc/systemd/system'],
  ['/var/lib', '/var/lib/multinic'],
  ['/proc/sys/net', '/host/proc/sys/net'],
  ['/proc/sys/kernel/random/boot_id', '/host/boot_id'],
]
const spec: PodSpec = {
  containers: [{ name: 'agent', image: '', volumeMounts: mounted.map(([name, mountPath]) => ({ name, mountPath })) }],
  volumes: mounted.map(([path]) => ({ name: path, hostPath: { path } })),
}

export function hostConformance(implementation: HostImplementation): void {
  let state: StateDir
  let cloudState: CloudState
  let fabric: Fabric
  let image: Image
  let [storage, wide]: [Subnet?, Subnet?] = []
  let [node, other]: [SandboxNode?, SandboxNode?] = []
  let runs = 0
  const defined = <T>(value: T | undefined): T => value ?? assert.fail('not created')

  before(async () => {
    state = stateDir(await mkdtemp(join(tmpdir(), 'multinic-host-')))
    await makeStateDir(state)
    cloudState = createCloudState()
    fabric = await createFabric(state, implementation.machine(state))
    image = await implementation.image()
    const home = addSubnet(cloudState, { name: 'nodes', cidr: '10.0.0.0/24', mtu: 1500 })
    storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
    wide = addSubnet(cloudState, { name: 'wide', cidr: 'fd00:10::/64', mtu: 1500, gatewayIp: 'fd00:10::1' })
    for (const { id, cidr, gatewayIp, networkId } of [home, storage, wide])
      await fabric.addSubnet({ id, cidr, gatewayIp, mtu: cloudState.networks.get(networkId)?.mtu ?? 1500 })
    const made = async (name: string) => {
      const server = addServer(cloudState, name)
      const primary = addPort(cloudState, { server, subnet: home })
      return createNode({ state, cloudState, fabric, server, primary, nicDelayMs: () => 0, log: silent })
    }
    ;[node, other] = [await made('worker-1'), await made('worker-2')]
  })

  after(async () => {
    for (const each of [node, other]) await each?.remove()
    await fabric.remove()
    await stopAndRemove(state)
  })

  /** Runs the agent on a node, like its Pod. */
  async function agent(
    on: SandboxNode,
    interfaces: RequestedInterface[],
    more: Partial<AgentInput> = {},
  ): Promise<AgentReport> {
    const input: AgentInput = {
      ...{ version: 1, mode: 'apply', nodeName: on.name, instanceId: on.server.id, generation: 1, specHash: 'hash' },
      ...{ nodeAddresses: [on.address], interfaces, ...more },
    }
    const running = await on.start({
      dir: state.path('runs', String(++runs)),
      command: image.entrypoint,
      env: { MULTINIC_INPUT: JSON.stringify(input), NIC_WAIT: '0s', KUBERNETES_SERVICE_HOST: serviceAddress },
      spec,
      mounts: [...image.mounts, ...(await on.mounts({ spec }))],
      capabilities: ['NET_ADMIN'],
      terminationMessagePath: '/dev/termination-log',
    })
    const { exitCode } = await running.ended
    assert.equal(exitCode, 0, readFileSync(running.logFile, 'utf8'))
    return JSON.parse(readFileSync(running.messageFile, 'utf8')) as AgentReport
  }

  const requestFor = (port: Port, index: number, more: Partial<RequestedInterface> = {}): RequestedInterface => {
    const [ip] = port.fixedIps
    const subnet = defined(cloudState.subnets.get(ip?.subnetId ?? ''))
    return {
      ...{ id: index, name: `multinic${index}`, macAddress: port.macAddress, portId: port.id, mtu: 1450 },
      ...{ address: ip?.ipAddress ?? '', cidr: subnet.cidr, ...(subnet.gatewayIp && { gateway: subnet.gatewayIp }) },
      ...more,
    }
  }
  const verdicts = ({ interfaces }: AgentReport) =>
    interfaces.map(({ name, status, reason }) => [name, ...new Set([status, reason])].join(' '))

  interface LinkView {
    ifname: string
    address: string
    mtu: number
    flags: string[]
    addr_info: { local: string; prefixlen: number; scope: string }[]
  }
  /** `ens4 fa:16:… mtu 1450 up 10.10.0.10/24` */
  async function links(on: SandboxNode): Promise<string[]> {
    const all = await fabric.machine.ipJson<LinkView>(on.namespace, ['address', 'show'])
    return all
      .filter(({ ifname }) => ifname !== 'lo')
      .map(({ ifname, address, mtu, flags, addr_info }) =>
        [
          ...[ifname, address, `mtu ${mtu}`, flags.includes('UP') ? 'up' : 'down'],
          ...addr_info.filter(({ scope }) => scope === 'global').map(({ local, prefixlen }) => `${local}/${prefixlen}`),
        ].join(' '),
      )
      .sort()
  }
  interface RouteView {
    dst: string
    gateway?: string
    dev: string
    prefsrc?: string
    table?: string
    type?: string
  }
  /** A table that does not exist yet is empty. */
  async function routes(on: SandboxNode, table: string, family: 4 | 6 = 4): Promise<string[]> {
    const all = await fabric.machine.ipJson<RouteView>(on.namespace, ['route', 'show', 'table', 'all'])
    return all
      .filter(each => (each.table ?? 'main') === table && (each.type ?? 'unicast') === 'unicast')
      .filter(({ dst, gateway = '' }) => `${dst}${gateway}`.includes(':') === (family === 6))
      .map(({ dst, gateway, dev, prefsrc }) =>
        [dst, ...(gateway ? ['via', gateway] : []), 'dev', dev, ...(prefsrc ? ['src', prefsrc] : [])].join(' '),
      )
      .sort()
  }
  interface RuleView {
    priority: number
    not?: null
    src: string
    srclen?: number
    iif?: string
    fwmark?: string
    fwmask?: string
    table?: string
    suppress_prefixlen?: number
    goto?: number
  }
  async function rules(on: SandboxNode): Promise<string[]> {
    const all = await fabric.machine.ipJson<RuleView>(on.namespace, ['rule', 'show'])
    return all.map(rule =>
      [
        `${rule.priority}: from ${rule.src}${rule.srclen === undefined ? '' : `/${rule.srclen}`}`,
        ...(rule.iif === undefined ? [] : [`iif ${rule.iif}`]),
        ...(rule.fwmark === undefined ? [] : [`fwmark ${rule.fwmark}/${rule.fwmask}`]),
        rule.table === undefined ? `goto ${rule.goto ?? 'none'}` : `lookup ${rule.table}`,
        ...(rule.suppress_prefixlen === undefined ? [] : [`suppress_prefixlength ${rule.suppress_prefixlen}`]),
      ].join(' '),
    )
  }
  async function files(on: SandboxNode): Promise<string[]> {
    const all = await readdir(join(on.root, 'etc'), { recursive: true })
    return all.filter(path => path.includes('multinic') && !path.includes('backup')).sort()
  }
  async function all(on: SandboxNode): Promise<unknown> {
    const tables = [await routes(on, 'main'), await routes(on, '100'), await routes(on, '110')]
    return [await links(on), ...tables, await rules(on), await files(on)]
  }
  /** Attaches ports for one case. Detaches them and cleans up afterwards, even when the case fails. */
  async function withPorts(
    requested: [on: SandboxNode, subnet: Subnet][],
    act: (...ports: [Port, Port]) => Promise<void>,
  ): Promise<void> {
    const ports = requested.map(([{ server }, subnet]) => addPort(cloudState, { server, subnet }))
    const hosts = [...new Set(requested.map(([on]) => on))]
    const wired = async () => {
      for (const on of hosts) await on.syncNics()
    }
    await wired()
    try {
      const [first, second] = ports
      await act(defined(first), second ?? defined(first))
    } finally {
      for (const on of hosts) await agent(on, [], { mode: 'cleanup' })
      for (const port of ports) removePort(cloudState, port.id)
      await wired()
    }
  }

  test('a node has a primary NIC with an address and a default route, and routing tables of its own', async () => {
    const on = defined(node)
    assert.match((await links(on)).join(), /^ens3 fa:16:3e:\S+ mtu 1500 up 10\.0\.0\.10\/24$/)
    assert.deepEqual(await routes(on, 'main'), [
      '10.0.0.0/24 dev ens3 src 10.0.0.10',
      'default via 10.0.0.1 dev ens3 src 10.0.0.10',
    ])
    assert.deepEqual(await rules(on), [
      '0: from all lookup local',
      '32766: from all lookup main',
      '32767: from all lookup default',
    ])
  })

  test('a hot-plugged NIC has no configuration, and disappears with its port', async () => {
    const on = defined(node)
    await withPorts([[on, defined(storage)]], async port => {
      assert.deepEqual((await links(on)).slice(1), [`ens4 ${port.macAddress} mtu 1500 down`])
    })
    assert.equal((await links(on)).length, 1)
  })

  test('the agent configures a NIC, changes nothing in a second run, and removes everything in a cleanup', async () => {
    const on = defined(node)
    await withPorts([[on, defined(storage)]], async port => {
      const before = await all(on)
      assert.deepEqual(verdicts(await agent(on, [requestFor(port, 0)])), ['multinic0 Configured'])
      const [{ ipAddress } = { ipAddress: '' }] = port.fixedIps
      assert.deepEqual((await links(on)).slice(1), [`multinic0 ${port.macAddress} mtu 1450 up ${ipAddress}/24`])
      assert.deepEqual(await routes(on, '100'), [
        `10.10.0.0/24 dev multinic0 src ${ipAddress}`,
        'default via 10.10.0.1 dev multinic0',
      ])
      assert.deepEqual(
        (await rules(on)).filter(rule => /lookup (100|110)|10060/.test(rule)),
        [
          '10000: from all fwmark 0x8/0x78 lookup 100',
          '10010: from all fwmark 0x58/0x78 lookup 110',
          '10060: from 10.10.0.0/24 iif lo lookup main suppress_prefixlength 7',
          '10070: from 10.10.0.0/24 iif lo lookup 100',
          '10091: from 10.0.0.0/24 iif lo lookup 110 suppress_prefixlength 0',
        ],
      )
      assert.deepEqual(await routes(on, '110'), ['10.10.0.0/24 via 10.0.0.1 dev ens3'])
      assert.ok((await routes(on, 'main')).includes(`10.10.0.0/24 dev multinic0 src ${ipAddress}`))
      assert.ok((await files(on)).includes('netplan/90-multinic0.yaml'))

      const made = await all(on)
      assert.equal((await agent(on, [requestFor(port, 0)])).changed, 0)
      assert.deepEqual(await all(on), made)

      await agent(on, [], { mode: 'cleanup' })
      assert.deepEqual(await all(on), before)
    })
  })

  test('IPv6 has rules and tables of its own', async () => {
    const on = defined(node)
    await withPorts([[on, defined(wide)]], async port => {
      assert.deepEqual(verdicts(await agent(on, [requestFor(port, 1)])), ['multinic1 Configured'])
      const [{ ipAddress } = { ipAddress: '' }] = port.fixedIps
      assert.ok((await links(on))[1]?.endsWith(` up ${ipAddress}/64`), (await links(on)).join())
      assert.deepEqual(await routes(on, '101', 6), [
        'default via fd00:10::1 dev multinic1',
        'fd00:10::/64 dev multinic1',
      ])
    })
  })

  test('two NICs exchange their names in one run', async () => {
    const on = defined(node)
    const two: [SandboxNode, Subnet] = [on, defined(storage)]
    await withPorts([two, two], async (first, second) => {
      await agent(on, [requestFor(first, 0), requestFor(second, 1)])
      const traded = await agent(on, [requestFor(second, 0), requestFor(first, 1)])
      assert.deepEqual(verdicts(traded), ['multinic0 Configured', 'multinic1 Configured'])
      const named = (await links(on)).slice(1).map(line => line.split(' mtu')[0])
      assert.deepEqual(named, [`multinic0 ${second.macAddress}`, `multinic1 ${first.macAddress}`])
    })
  })

  test('an address that another host uses is refused, and the NIC is rolled back', async () => {
    const [on, peer] = [defined(node), defined(other)]
    const both: [SandboxNode, Subnet][] = [
      [on, defined(storage)],
      [peer, defined(storage)],
    ]
    await withPorts(both, async (port, theirs) => {
      await agent(peer, [requestFor(theirs, 0)])
      const before = await all(on)
      const duplicate = requestFor(port, 0, { address: theirs.fixedIps[0]?.ipAddress ?? '' })
      assert.deepEqual(verdicts(await agent(on, [duplicate])), ['multinic0 Failed AddressConflict'])
      assert.deepEqual(await all(on), before)
    })
  })

  test('a missing NIC and a NIC in use fail alone; the others are configured', async () => {
    const on = defined(node)
    const two: [SandboxNode, Subnet] = [on, defined(storage)]
    await withPorts([two, two], async (good, bad) => {
      const absent = requestFor({ ...good, macAddress: 'fa:16:3e:99:99:99', id: 'gone' }, 2, { address: '10.10.0.77' })
      await fabric.machine.ip(on.namespace, ['link set ens5 up', 'address add 192.0.2.5/24 dev ens5'])
      const report = await agent(on, [requestFor(good, 0), requestFor(bad, 1), absent])
      assert.deepEqual(verdicts(report), [
        'multinic0 Configured',
        'multinic1 Failed ForeignAddresses',
        'multinic2 Pending NicMissing',
      ])
      assert.deepEqual((await links(on)).slice(1), [
        `ens5 ${bad.macAddress} mtu 1500 up 192.0.2.5/24`,
        `multinic0 ${good.macAddress} mtu 1450 up ${good.fixedIps[0]?.ipAddress}/24`,
      ])
    })
  })

  test('a link that is down on the other side loses its carrier and nothing else', async () => {
    const on = defined(node)
    await withPorts([[on, defined(storage)]], async port => {
      await agent(on, [requestFor(port, 0)])
      await fabric.machine.ip(fabric.namespace, [`link set ${fabricLinkOf(port.id)} down`])
      const seen = (await fabric.machine.ipJson<LinkView>(on.namespace, ['link', 'show'])).at(-1)
      assert.ok(seen?.flags.includes('UP') && !seen.flags.includes('LOWER_UP'), seen?.flags.join())
      await fabric.machine.ip(fabric.namespace, [`link set ${fabricLinkOf(port.id)} up`])
    })
  })

  test('the primary NIC and a machine with another SystemUUID are never changed', async () => {
    const on = defined(node)
    const primary = [...cloudState.ports.values()].find(({ deviceId }) => deviceId === on.server.id)
    const before = await all(on)
    assert.deepEqual(verdicts(await agent(on, [requestFor(defined(primary), 0)])), [
      'multinic0 Failed CarriesDefaultRoute',
    ])
    assert.equal((await agent(on, [], { instanceId: '00000000-0000-0000-0000-000000000000' })).verdict, 'Failed')
    assert.deepEqual(await all(on), before)
  })

  test('after a reboot the files restore the NIC, and the agent changes nothing', async () => {
    const on = defined(node)
    await withPorts([[on, defined(storage)]], async port => {
      await agent(on, [requestFor(port, 0)])
      const before = await all(on)
      const { bootID } = on
      await on.reboot()
      assert.notEqual(on.bootID, bootID)
      assert.equal((await readFile(join(on.root, 'proc/sys/kernel/random/boot_id'), 'utf8')).trim(), on.bootID)
      assert.deepEqual(await all(on), before)
      assert.equal((await agent(on, [requestFor(port, 0)])).changed, 0)
    })
  })
}
