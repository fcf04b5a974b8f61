/**
 * A real node in this isolation: kubelet, containerd and runc in their own namespaces, like a VM with a given name, system
 * UUID, boot ID and MAC addresses. eth0 is connected to the bridge of the control plane. The peers of eth1, eth2 … are p1, p2
 * … in a second namespace ("fabric"), where a test can set them down.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createCgroup, removeCgroup } from '../cgroup.ts'
import { type Daemon, type RunOptions, type RunResult, run, startDaemon, waitForAnswer } from '../process.ts'
import { binary } from './binaries.ts'
import { bridge, type ControlPlane, kubeconfigText } from './control-plane.ts'
import { writePauseImage } from './images.ts'
import { containerdConfig, inCgroup, kubeletConfig, noNetwork, noNetworkPlugin, runtimeSpec } from './node-config.ts'
import { clusterDns, listRules, type PodNetwork, pointToPoint } from './pod-network.ts'

export interface NodeOptions {
  name: string
  /** System UUID. */
  uuid: string
  macs: readonly string[]
  /** OCI archives. */
  images?: readonly string[]
  bootID?: string
  /** The directory of the CNI plugins, and the configuration. Without it, Pods have no network of their own. */
  cni?: { plugins: string; config: object }
  /** Gives Pods an address of their own and the names and addresses of Services. */
  network?: PodNetwork
  /** Taints that the node registers itself with. */
  taints?: readonly object[]
}

export interface RigNode {
  name: string
  address: string
  bootID(): string
  /** The names of its network namespace, and of the namespace with the peers of its NICs. */
  netns: string
  fabric: string
  /** Runs a command in the VM as root. */
  exec(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Powers the VM off without shutdown. Its peers get no packet any more, and no error. */
  powerOff(): Promise<void>
  /** Powers it on with a new boot ID: the disk stays, the kernel state does not. Calls back before any program of it runs. */
  powerOn(hasNics?: () => Promise<unknown>): Promise<void>
  powerCycle(): Promise<void>
  close(): Promise<void>
}

interface Machine {
  init: Daemon
  pid: number
  bootID: string
}

export async function startNode(cp: ControlPlane, options: NodeOptions): Promise<RigNode> {
  const { name, macs, network } = options
  const address = cp.nextAddress()
  const podCidr = network?.nextCidr()
  const disk = await mkdtemp(join(cp.dir, `node-${name}-`))
  // The directory contains secrets of Pods: other users must not list it, but programs of the VM run as any user.
  await chmod(disk, 0o711)
  const cgroup = `${cp.isolation}/${name}`
  const netns = `mn-${name}`
  const fabric = `mn-${name}-fab`
  const port = `mn${address.split('.').at(-1)}`
  const serving = await cp.authority.issue(`node-${name}`, `/O=system:nodes/CN=system:node:${name}`, {
    subjectAltName: `IP:${address},DNS:${name}`,
    extendedKeyUsage: 'clientAuth,serverAuth',
  })
  const pause = join(disk, 'pause.tar')
  await writePauseImage(pause)
  const pods = podCidr && { cniVersion: '0.3.1', name: 'pods', plugins: [pointToPoint(podCidr)] }
  const chosen = network && pods ? { plugins: network.plugins, config: pods } : options.cni
  const cni = { plugins: chosen?.plugins ?? join(disk, 'cni'), config: join(disk, 'net.d') }
  await mkdir(cni.config)
  await writeFile(join(cni.config, '10-pods.conflist'), chosen ? JSON.stringify(chosen.config) : noNetwork)
  if (!chosen) {
    await mkdir(cni.plugins)
    await writeFile(join(cni.plugins, 'loopback'), noNetworkPlugin, { mode: 0o755 })
  }
  const spec = join(disk, 'spec.json')
  await writeFile(spec, await runtimeSpec())
  await writeFile(join(disk, 'containerd.toml'), await containerdConfig({ cni, spec }))
  const kubeconfig = kubeconfigText(cp.server, cp.authority.cert, {
    'client-certificate': serving.cert,
    'client-key': serving.key,
  })
  await writeFile(join(disk, 'kubeconfig'), kubeconfig)
  const { taints } = options
  const kubelet = kubeletConfig({ address, serving, clientCa: cp.authority.cert, ...(taints && { taints }) })
  const config = { ...kubelet, ...inCgroup(cgroup), ...(network && clusterDns) }
  await writeFile(join(disk, 'kubelet.json'), JSON.stringify(config))

  const boot = async (bootID: string, hasNics?: () => Promise<unknown>): Promise<Machine> => {
    await plug({ netns, fabric, port, address, macs })
    await hasNics?.()
    if (podCidr) await run('ip', ['route', 'replace', podCidr, 'via', address])
    else await redirectServiceAddress(netns, cp.server)
    const groups = await createCgroup(`${cgroup}/system`)
    const start = (program: string, args: readonly string[], env: Record<string, string> = {}) =>
      startDaemon('bash', ['-c', joinGroups, 'bash', groups.join(' '), ...args], {
        log: join(disk, `${program}.log`),
        env,
      })

    await rm(join(disk, 'ready'), { force: true })
    const init = start(
      'init',
      [
        ...['nsenter', `--net=/run/netns/${netns}`],
        ...['unshare', '--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child'],
        join(import.meta.dirname, 'node-init.sh'),
      ],
      { DISK: disk, NAME: name, UUID: options.uuid, BOOT_ID: bootID },
    )
    await waitForAnswer(`init of ${name}`, init, async () => {
      if (!existsSync(join(disk, 'ready'))) throw new Error('the ready file does not exist')
    })
    const machine = { init, pid: await onlyChild(init.pid), bootID }
    const inside = [...enter(machine.pid), 'env', `PATH=${path}`]

    const containerd = start('containerd', [...inside, binary('containerd'), '--config', join(disk, 'containerd.toml')])
    const ctr = (...args: string[]) => run('nsenter', [...inside.slice(1), binary('ctr'), '-n', 'k8s.io', ...args])
    await waitForAnswer(`containerd of ${name}`, containerd, () => ctr('version'))
    for (const image of [pause, ...(options.images ?? [])]) await ctr('images', 'import', image)

    const kubelet = start('kubelet', [
      ...[...inside, binary('kubelet'), `--config=${join(disk, 'kubelet.json')}`],
      ...[`--kubeconfig=${join(disk, 'kubeconfig')}`, `--hostname-override=${name}`, `--node-ip=${address}`],
    ])
    await waitForAnswer(`kubelet of ${name}`, kubelet, () => isReady(cp, name, bootID))
    if (network) {
      const proxy = start('kube-proxy', [...inside, ...(await network.proxyCommand(name))])
      await waitForAnswer(`kube-proxy of ${name}`, proxy, () =>
        run('ip', ['netns', 'exec', netns, 'nft', ...listRules]),
      )
    }
    return machine
  }

  let machine: Machine | undefined
  const powerOff = async (): Promise<void> => {
    // The network first: the kernel would close the connections of the killed processes, and their peers would notice.
    await run('ip', ['link', 'delete', port], { check: false })
    await machine?.init.stop('SIGKILL')
    for (const namespace of [netns, fabric]) await run('ip', ['netns', 'delete', namespace], { check: false })
    await removeCgroup(cgroup)
    machine = undefined
  }

  const close = async () => {
    await powerOff()
    await rm(disk, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    machine = await boot(options.bootID ?? randomUUID())
  } catch (error) {
    await close()
    throw error
  }
  const powerOn: RigNode['powerOn'] = async hasNics => {
    machine = await boot(randomUUID(), hasNics)
  }
  const running = (): Machine => {
    if (!machine) throw new Error(`${name} is powered off`)
    return machine
  }
  return {
    name,
    address,
    netns,
    fabric,
    bootID: () => running().bootID,
    exec: (command, args, more) => run('nsenter', [...enter(running().pid).slice(1), command, ...args], more),
    powerOff,
    powerOn,
    powerCycle: async () => {
      await powerOff()
      await powerOn()
    },
    close,
  }
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Adds the shell, and so the program that replaces it, to the cgroups of its first argument. */
const joinGroups = 'for group in $1; do echo $$ >"$group/cgroup.procs"; done; shift; exec "$@"'

function enter(pid: number): string[] {
  return ['nsenter', '--target', String(pid), '--mount', '--uts', '--ipc', '--net', '--pid']
}

interface PlugOptions {
  netns: string
  fabric: string
  /** Name of the port at the bridge. */
  port: string
  address: string
  macs: readonly string[]
}

async function plug({ netns, fabric, port, address, macs }: PlugOptions): Promise<void> {
  const last = Number(address.split('.').at(-1)).toString(16).padStart(2, '0')
  for (const namespace of [netns, fabric]) {
    await run('ip', ['netns', 'add', namespace])
    await run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up'])
  }
  const macAddress = `fa:16:3e:88:00:${last}`
  const primary = ['name', 'eth0', 'address', macAddress, 'netns', netns]
  await run('ip', ['link', 'add', port, 'type', 'veth', 'peer', ...primary])
  await run('ip', ['link', 'set', port, 'master', bridge.name, 'up'])
  // OpenStack answers ARP also for a VM that is off. Otherwise connections to it would fail at once.
  await run('ip', ['neighbour', 'replace', address, 'lladdr', macAddress, 'nud', 'permanent', 'dev', bridge.name])
  await run('ip', ['-n', netns, 'address', 'add', `${address}/${bridge.prefix}`, 'dev', 'eth0'])
  await run('ip', ['-n', netns, 'link', 'set', 'eth0', 'up'])
  await run('ip', ['-n', netns, 'route', 'add', 'default', 'via', bridge.address])
  for (const [index, macAddress] of macs.entries()) {
    const peer = ['name', `eth${index + 1}`, 'address', macAddress, 'netns', netns]
    await run('ip', ['-n', fabric, 'link', 'add', `p${index + 1}`, 'type', 'veth', 'peer', ...peer])
    await run('ip', ['-n', fabric, 'link', 'set', `p${index + 1}`, 'up'])
  }
}

/** Without kube-proxy, redirects the service address of the API server to the real one. */
async function redirectServiceAddress(netns: string, server: string): Promise<void> {
  const target = server.replace('https://', '')
  const rule = `type nat hook output priority -100; ip daddr 10.0.0.1 tcp dport 443 dnat to ${target}`
  await run('nsenter', [`--net=/run/netns/${netns}`, 'nft', '-f', '-'], {
    input: `table ip kubernetes {\nchain output {\n${rule}\n}\n}\n`,
  })
}

async function onlyChild(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const child = Number(children.trim().split(' ')[0])
  if (!child) throw new Error(`process ${pid} has no child`)
  return child
}

interface NodeStatus {
  status?: { nodeInfo?: { bootID?: string }; conditions?: { type: string; status: string; reason?: string }[] }
}

/** After a power cycle the node stays Ready for a while, so the boot ID must match too. */
async function isReady(cp: ControlPlane, name: string, bootID: string): Promise<void> {
  const { status } = (await cp.get(`/api/v1/nodes/${name}`)) as NodeStatus
  const ready = status?.conditions?.find(condition => condition.type === 'Ready')
  if (status?.nodeInfo?.bootID !== bootID) throw new Error(`boot ID is ${status?.nodeInfo?.bootID}, not ${bootID}`)
  if (ready?.status !== 'True') throw new Error(`not Ready: ${ready?.reason}`)
}
