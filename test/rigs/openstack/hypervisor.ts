/**
 * A compute host with a hypervisor: libvirt starts the servers in QEMU, emulated, and Neutron's Linux bridge agent connects
 * their ports. Without it, a server of the cloud is only a record.
 *
 * Requires isolation (isolation.ts): it mounts directories of its own over those of the system.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { currentIsolation } from '../isolation.ts'
import { run } from '../process.ts'
import type { Directories } from './addresses.ts'
import type { Api } from './api.ts'

/** Sections of a configuration file. */
export type Sections = Record<string, Record<string, string | number | boolean>>

/** libvirt has no setting for these directories. */
const libvirtDirectories = ['/etc', '/run', '/var/lib', '/var/cache', '/var/log'].map(parent => `${parent}/libvirt`)

/** Everything runs as root, without a machine-wide security module, cgroups or logging daemon. */
const qemuConf = `
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
`

/** Settings of nova-compute. */
export function novaOnLibvirt({ etc }: Directories): Sections {
  const privileged = { helper_command: `privsep-helper --config-file ${join(etc, 'nova.conf')}` }
  return {
    DEFAULT: { compute_driver: 'libvirt.LibvirtDriver', force_raw_images: false, pointer_model: 'ps2mouse' },
    // Node 24 needs at least a Nehalem. Each hot-plugged NIC takes one PCIe port.
    libvirt: {
      virt_type: 'qemu',
      cpu_mode: 'custom',
      cpu_models: 'Nehalem',
      hw_machine_type: 'x86_64=q35',
      num_pcie_ports: 24,
    },
    nova_sys_admin: privileged,
    vif_plug_linux_bridge_privileged: privileged,
  }
}

/** Settings of Neutron and its agent. */
export const neutronOnBridges: Sections = {
  ml2: { mechanism_drivers: 'linuxbridge', tenant_network_types: 'local' },
  experimental: { linuxbridge: true },
  vxlan: { enable_vxlan: false },
  // The services run as root, without sudo.
  AGENT: { root_helper: 'env' },
  securitygroup: { firewall_driver: 'iptables' },
}

/** Prepares the host for libvirtd, Nova and the agent of Neutron, and returns the arguments of libvirtd. */
export async function prepareHypervisor({ etc, run: runtime, tmp }: Directories): Promise<string[]> {
  currentIsolation()
  await mkdir(join(tmp, 'instances'))
  // The agent of Neutron derives its ID from the MAC address of the first NIC, and exits without one.
  await run('ip', ['link', 'add', 'uplink', 'type', 'bridge'])
  for (const directory of libvirtDirectories) {
    await mkdir(directory, { recursive: true })
    await run('mount', ['-t', 'tmpfs', 'libvirt', directory])
  }
  // The links of this network namespace.
  await run('mount', ['-t', 'sysfs', 'sysfs', '/sys'])
  await addLine('/etc/passwd', 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin', etc)
  await addLine('/etc/group', 'libvirt-qemu:x:64055:', etc)
  await writeFile('/etc/libvirt/qemu.conf', qemuConf)
  await writeFile('/etc/libvirt/libvirtd.conf', 'auth_unix_rw = "none"\n')
  return ['--pid-file', join(runtime, 'libvirtd.pid')]
}

/** libvirtd does not start without its default user and group, even if it uses others. */
async function addLine(file: string, line: string, etc: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const [name] = line.split(':')
  if (text.split('\n').some(known => known.startsWith(`${name}:`))) return
  const copy = join(etc, file.replaceAll('/', '-'))
  await writeFile(copy, `${text}${line}\n`, { mode: 0o644 })
  await run('mount', ['--bind', copy, file])
}

/** Returns the output of a command of libvirt. */
export async function virsh(...args: string[]): Promise<string> {
  return (await run('virsh', ['--connect', 'qemu:///system', ...args])).stdout
}

/** A port that is bound before Neutron knows the agent is not connected. */
export async function waitForBridgeAgent(api: Api): Promise<void> {
  await eventually(
    async () => {
      const { agents } = await api.call('neutron', 'GET', '/v2.0/agents?binary=neutron-linuxbridge-agent')
      if (!agents[0]?.alive) throw new Error('Neutron does not know the Linux bridge agent')
    },
    { within: 240_000, every: 300 },
  )
}
