/**
 * Real OVN in a network namespace, without a kernel module: ports of that namespace leave their Linux bridges for logical switches
 * with port security.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SecuredPort } from '../port-security.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../process.ts'

export interface OvnPort extends SecuredPort {
  /** The bridge that it leaves. The other ports of the bridge stay its neighbours. */
  bridge: string
}

export interface Ovn {
  /** Returns when the flows of the ports are in place. */
  connect(ports: readonly OvnPort[]): Promise<void>
  /** Ends the daemons. Their devices go with the namespace. */
  stop(): Promise<void>
}

const schemas = {
  'db.sock': '/usr/share/openvswitch/vswitch.ovsschema',
  'nb.sock': '/usr/share/ovn/ovn-nb.ovsschema',
  'sb.sock': '/usr/share/ovn/ovn-sb.ovsschema',
}

export async function startOvn(namespace: string): Promise<Ovn> {
  const dir = await mkdtemp(join(tmpdir(), 'ovn-'))
  const env = Object.fromEntries(
    ['OVS', 'OVN'].flatMap(name => ['RUNDIR', 'LOGDIR', 'DBDIR', 'SYSCONFDIR'].map(kind => [`${name}_${kind}`, dir])),
  )
  const socket = (name: keyof typeof schemas) => `unix:${dir}/${name}`
  const inside = (command: string, ...args: string[]) =>
    run('nsenter', [`--net=/run/netns/${namespace}`, command, ...args], { env })
  const configure = (...args: string[]) => inside('ovs-vsctl', `--db=${socket('db.sock')}`, '--timeout=60', ...args)
  const logical = (...args: string[]) => inside('ovn-nbctl', `--db=${socket('nb.sock')}`, '--timeout=60', ...args)
  const daemons: Daemon[] = []
  const start = (command: string, ...args: string[]): Daemon => {
    const daemon = startDaemon('nsenter', [`--net=/run/netns/${namespace}`, command, ...args], {
      log: join(dir, `${command}.log`),
      env,
    })
    daemons.push(daemon)
    return daemon
  }
  const stop = async () => {
    for (const daemon of daemons.toReversed()) await daemon.stop()
  }

  try {
    for (const [name, schema] of Object.entries(schemas)) {
      const file = join(dir, `${name}.db`)
      await run('ovsdb-tool', ['create', file, schema])
      const server = start('ovsdb-server', file, `--remote=punix:${dir}/${name}`, `--unixctl=${dir}/${name}.ctl`)
      await waitForAnswer(name, server, () => inside('ovsdb-client', 'list-dbs', `unix:${dir}/${name}`))
    }
    const ids = {
      'system-id': 'host',
      'ovn-remote': socket('sb.sock'),
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': '127.0.0.1',
    }
    const external = Object.entries(ids).map(([key, value]) => `external-ids:${key}="${value}"`)
    await configure('--no-wait', 'init', '--', 'set', 'open', '.', ...external)
    start('ovs-vswitchd', socket('db.sock'), '--disable-system')
    start('ovn-northd', `--ovnnb-db=${socket('nb.sock')}`, `--ovnsb-db=${socket('sb.sock')}`)
    await configure(
      ...['--may-exist', 'add-br', 'br-int'],
      ...['--', 'set', 'bridge', 'br-int', 'datapath_type=netdev', 'fail-mode=secure'],
    )
    start('ovn-controller', socket('db.sock'))
  } catch (error) {
    await stop()
    throw error
  }

  const plug = (device: string, port: string) =>
    configure('add-port', 'br-int', device, '--', 'set', 'interface', device, `external-ids:iface-id=${port}`)

  return {
    stop,
    async connect(ports) {
      const bridges = [...new Set(ports.map(({ bridge }) => bridge))]
      for (const bridge of bridges) {
        // The kernel leaves checksums to the device, and OVS reads packets before a device would add them.
        const [own, peer] = [`u-${bridge}`, `w-${bridge}`]
        await inside('ip', 'link', 'add', own, 'type', 'veth', 'peer', 'name', peer)
        await inside('ethtool', '--offload', own, 'tx', 'off')
        await inside('ip', 'link', 'set', own, 'master', bridge, 'up')
        await inside('ip', 'link', 'set', peer, 'up')
        await logical('ls-add', bridge, '--', 'lsp-add', bridge, peer, '--', 'lsp-set-addresses', peer, 'unknown')
        await plug(peer, peer)
      }
      for (const { device, bridge, macAddress, addresses, allowedAddressPairs = [] } of ports) {
        const pairs = allowedAddressPairs.map(pair => `${pair.macAddress} ${pair.ipAddress}`)
        await inside('ip', 'link', 'set', device, 'nomaster')
        await logical(
          ...['lsp-add', bridge, device, '--', 'lsp-set-addresses', device, [macAddress, ...addresses].join(' ')],
          ...['--', 'lsp-set-port-security', device, [macAddress, ...addresses].join(' '), ...pairs],
        )
        await plug(device, device)
      }
      await keepFromKernel([...ports.map(({ device }) => device), ...bridges.map(bridge => `w-${bridge}`)])
      await logical('--wait=hv', 'sync')
    },
  }

  /** OVS reads packets from the device, and the kernel would see them too and reply to ARP with its own addresses. */
  async function keepFromKernel(devices: readonly string[]): Promise<void> {
    const names = devices.map(device => `"${device}"`).join(', ')
    const hook = `type filter hook ingress devices = { ${names} } priority 10; policy drop;`
    const text = `table netdev ovn {\n chain kernel {\n ${hook}\n }\n}\n`
    await run('nsenter', [`--net=/run/netns/${namespace}`, 'nft', '-f', '-'], { input: text })
  }
}
