/**
 * One virtual machine in QEMU, emulated if the host has no KVM. NICs come and go as Nova plugs them.
 *
 * Its disk has a volatile cache, in nbdkit: after a power cut it has only what the guest flushed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { type Daemon, type RunResult, run, startDaemon, waitForAnswer } from '../process.ts'
import { type Channel, type Message, openChannel } from './channel.ts'
import { type GuestAgent, type GuestRunOptions, openGuestAgent } from './guest-agent.ts'
import { createTap, type Nic, removeTap } from './network.ts'

export interface MachineOptions {
  /** Directory for disk, sockets and logs. */
  dir: string
  /** Directory that image.sh printed. */
  image: string
  /** A second, read-only disk. */
  payload: string
  primary: Nic
  uuid: string
  /** Files to write to the disk before the first boot, by path. Their directories must exist. */
  files?: Readonly<Record<string, string>>
  /** More kernel parameters. */
  kernel?: readonly string[]
  /** For arm64: the firmware starts the kernel, which then has ACPI and SMBIOS instead of a device tree. */
  uefi?: boolean
}

/** Commands in a running guest. */
export interface Shell {
  /** Runs a shell script in the guest. */
  run(script: string, options?: GuestRunOptions): Promise<RunResult>
  /** The same; throws if the script fails. Returns its output. */
  exec(script: string, options?: GuestRunOptions): Promise<string>
  writeFile(path: string, text: string): Promise<void>
}

export interface Machine extends Shell {
  /** The NICs without the primary. A change takes effect at the next start. */
  readonly nics: Nic[]
  start(): Promise<void>
  /** Attaches a NIC to the running guest. */
  plug(nic: Nic): Promise<void>
  unplug(name: string): Promise<void>
  /** The guest shuts down and boots again. */
  reboot(): Promise<void>
  powerOff(): Promise<void>
  /** Kills QEMU and the cache of its disk. */
  cutPower(): Promise<void>
  /** Kills QEMU and removes the tap devices. */
  remove(): Promise<void>
  /** CPU time of all programs that this process started. Other load on the machine hardly changes it. */
  cpuSeconds(): number
}

/** Minutes: eight guests may share two cores. */
const bootWithin = 15 * 60_000
/** As many as an agent configures. */
const slots = 10
const channelName = 'org.qemu.guest_agent.0'
/** Where a test writes an initrd in the guest. */
export const guestInitrd = '/boot/initrd.img'

const kernelParameters = 'root=/dev/vda rw quiet loglevel=4 mitigations=off nokaslr'
const commonHardware = ['-smp', '1', '-m', '768', '-accel', 'tcg,tb-size=256']

const firmware = '/usr/share/qemu-efi-aarch64/QEMU_EFI.fd'

/** How to emulate a machine of each architecture. */
const platforms = {
  /**
   * tsc, hpet: on a busy host the kernel calibrates the TSC wrongly, and the clock of the guest runs several times too fast.
   * Node 24 needs at least a Nehalem.
   */
  amd64: {
    program: 'qemu-system-x86_64',
    hardware: ['-machine', 'q35', '-cpu', 'Nehalem'],
    parameters: 'console=ttyS0 no_timer_check tsc=unstable clocksource=hpet',
  },
  arm64: {
    program: 'qemu-system-aarch64',
    hardware: ['-machine', 'virt,gic-version=3', '-cpu', 'cortex-a57'],
    parameters: 'console=ttyAMA0',
  },
}

/** What image.sh writes about an image. */
export interface ImageFacts {
  arch: keyof typeof platforms
  manager: 'netplan' | 'networkmanager' | 'ifcfg'
  /** Kernel parameters. */
  parameters: string
}

export function imageFacts(image: string): ImageFacts {
  return JSON.parse(readFileSync(join(image, 'guest.json'), 'utf8'))
}

export function kernelCommandLine(image: string): string {
  const { arch, parameters } = imageFacts(image)
  return [kernelParameters, platforms[arch].parameters, parameters].join(' ')
}

export async function createMachine(options: MachineOptions): Promise<Machine> {
  const { dir, image } = options
  const disk = join(dir, 'root.ext4')
  await run('cp', ['--sparse=always', '--reflink=auto', join(image, 'root.ext4'), disk])
  await writeToDisk(disk, options.files ?? {})
  const taps = new Map<string, Nic>()
  let running: Running | undefined

  const inGuest = () => {
    if (!running) throw new Error('the machine is off')
    return running
  }
  const ended = async (within: number) => {
    const { qemu, cache, close } = inGuest()
    await eventually(
      () => {
        if (qemu.alive()) throw new Error(`the guest did not end; see ${join(dir, 'console.log')}`)
      },
      { within },
    ).finally(close)
    await cache.stop()
    running = undefined
  }
  const shutDown = async (command: 'reboot' | 'poweroff') => {
    await machine.run(`systemctl --no-block ${command}`)
    await ended(bootWithin)
  }
  const tapFor = async (nic: Nic) => {
    if (!taps.has(nic.name)) await createTap(nic)
    taps.set(nic.name, nic)
  }

  const machine: Machine = {
    nics: [],
    async start() {
      for (const nic of [options.primary, ...machine.nics]) await tapFor(nic)
      running = await boot(dir, disk, qemuCommand(options, await initrdOf(disk, image), machine.nics))
    },
    ...shellOf(() => inGuest().guest),
    async plug(nic) {
      await tapFor(nic)
      const { qmp } = inGuest()
      await qmp('netdev_add', { type: 'tap', id: `net-${nic.name}`, ifname: nic.name, script: 'no', downscript: 'no' })
      await qmp('device_add', device(nic, `port${nic.slot}`))
      machine.nics.push(nic)
    },
    async unplug(name) {
      const nic = machine.nics.find(known => known.name === name)
      if (!nic) throw new Error(`the machine has no NIC ${name}`)
      const { qmp, monitor } = inGuest()
      const deleted = monitor.next(
        event => event['event'] === 'DEVICE_DELETED' && hasData(event, 'device', name),
        bootWithin,
      )
      await qmp('device_del', { id: name })
      await deleted
      await qmp('netdev_del', { id: `net-${name}` })
      machine.nics.splice(machine.nics.indexOf(nic), 1)
      taps.delete(name)
      await removeTap(nic)
    },
    async reboot() {
      await shutDown('reboot')
      await machine.start()
    },
    powerOff: () => shutDown('poweroff'),
    async cutPower() {
      if (!running) return
      await Promise.all([running.cache.stop('SIGKILL'), running.qemu.stop('SIGKILL')])
      running.close()
      running = undefined
    },
    async remove() {
      await machine.cutPower()
      for (const nic of taps.values()) await removeTap(nic)
      taps.clear()
    },
    cpuSeconds: () => (cpuTicks('self', [13, 14]) + (running ? cpuTicks(running.qemu.pid, [11, 12]) : 0)) / 100,
  }
  return machine
}

export function shellOf(guest: () => GuestAgent): Shell {
  const shell: Shell = {
    run: (script, more) => guest().run(script, more),
    async exec(script, more) {
      const { code, stdout, stderr } = await shell.run(script, more)
      if (code !== 0) throw new Error(`${script.trim().slice(0, 200)}: exit ${code} in the guest: ${stderr || stdout}`)
      return stdout
    },
    writeFile: async (path, text) => void (await shell.exec(`cat >'${path}'`, { input: text })),
  }
  return shell
}

/** Without mounting the disk. */
export async function writeToDisk(disk: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const source = `${disk}.file`
    writeFileSync(source, text)
    const commands = [`rm ${path}`, `write ${source} ${path}`, `set_inode_field ${path} mode 0100600`, `stat ${path}`]
    const { stdout, stderr } = await run('debugfs', ['-w', '-f', '-', disk], { input: `${commands.join('\n')}\n` })
    if (!stdout.includes('Mode:  0600')) throw new Error(`cannot write ${path} to ${disk}: ${stderr}`)
  }
}

/** As a boot loader reads it: the one that the guest wrote, or that of the image. */
async function initrdOf(disk: string, image: string): Promise<string> {
  const path = `${disk}.initrd`
  await run('debugfs', ['-R', `dump ${guestInitrd} ${path}`, disk])
  return existsSync(path) ? path : join(image, 'initrd.img')
}

interface Running {
  qemu: Daemon
  cache: Daemon
  monitor: Channel
  qmp(execute: string, args?: Message): Promise<void>
  guest: GuestAgent
  close(): void
}

/** Starts QEMU and waits until the guest answers. */
async function boot(dir: string, disk: string, command: readonly string[]): Promise<Running> {
  const cacheSocket = join(dir, 'disk')
  await run('rm', ['-f', join(dir, 'monitor'), join(dir, 'agent'), cacheSocket])
  const cacheOptions = ['--foreground', '--exit-with-parent', '--unix', cacheSocket, '--filter=cache']
  const cache = startDaemon('nbdkit', [...cacheOptions, 'file', disk, 'cache=writeback'], {
    log: join(dir, 'nbdkit.log'),
  })
  await waitForAnswer('nbdkit', cache, async () => (await openChannel(cacheSocket)).close())
  const qemu = startDaemon('nice', ['-n', '10', ...command], { log: join(dir, 'qemu.log') })
  const monitor = await waitForAnswer('QEMU', qemu, () => openChannel(join(dir, 'monitor')))
  let count = 0
  const qmp = async (execute: string, given: Message = {}) => {
    const id = ++count
    const answer = monitor.next(message => message['id'] === id, 60_000)
    monitor.send({ execute, id, arguments: given })
    const { error } = await answer
    if (error) throw new Error(`${execute}: ${JSON.stringify(error)}`)
  }
  await qmp('qmp_capabilities')
  await monitor.next(event => event['event'] === 'VSERPORT_CHANGE' && hasData(event, 'open', true), bootWithin)
  const channel = await openChannel(join(dir, 'agent'))
  const close = () => {
    monitor.close()
    channel.close()
  }
  return { qemu, cache, monitor, qmp, guest: await openGuestAgent(channel, bootWithin), close }
}

function hasData(event: Message, key: string, value: unknown): boolean {
  return (event['data'] as Message)[key] === value
}

/** -no-reboot: a reset ends QEMU, and the next one starts with new devices, as after a hard reboot in Nova. */
function qemuCommand(
  { dir, image, payload, primary, uuid, kernel = [], uefi }: MachineOptions,
  initrd: string,
  nics: Nic[],
): string[] {
  const platform = platforms[imageFacts(image).arch]
  const rootPorts = Array.from(
    { length: slots },
    (_, at) => `pcie-root-port,id=port${at + 1},chassis=${at + 1},slot=${at + 1},addr=0x1${at}`,
  )
  const devices = [
    'virtio-blk-pci,drive=root',
    'virtio-blk-pci,drive=payload',
    'virtio-rng-pci',
    'virtio-serial-pci',
    `virtserialport,id=agent,chardev=agent,name=${channelName}`,
    ...rootPorts,
    text(device(primary)),
    ...nics.map(nic => text(device(nic, `port${nic.slot}`))),
  ]
  return [
    ...[platform.program, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-uuid', uuid],
    ...[...platform.hardware, ...commonHardware, ...(uefi ? ['-bios', firmware] : [])],
    ...['-kernel', join(image, 'vmlinuz'), '-initrd', initrd],
    ...['-append', [kernelCommandLine(image), ...kernel].join(' '), '-serial', `file:${join(dir, 'console.log')}`],
    ...['-qmp', `unix:${join(dir, 'monitor')},server=on,wait=off`],
    ...['-chardev', `socket,id=agent,path=${join(dir, 'agent')},server=on,wait=off`],
    ...['-drive', `if=none,id=root,format=raw,cache=writeback,file=nbd+unix:///?socket=${join(dir, 'disk')}`],
    ...['-drive', `if=none,id=payload,format=raw,readonly=on,file=${payload}`],
    ...[primary, ...nics].flatMap(({ name }) => [
      '-netdev',
      `tap,id=net-${name},ifname=${name},script=no,downscript=no`,
    ]),
    ...devices.flatMap(name => ['-device', name]),
  ]
}

/** An empty romfile: the ROM for network boot is another package. */
function device({ name, macAddress, mtu }: Nic, bus?: string): Record<string, string | number> {
  const options = { id: name, netdev: `net-${name}`, mac: macAddress, romfile: '' }
  return { driver: 'virtio-net-pci', ...options, ...(bus && { bus }), ...(mtu && { host_mtu: mtu }) }
}

function text({ driver, ...options }: Record<string, string | number>): string {
  return [driver, ...Object.entries(options).map(([key, value]) => `${key}=${value}`)].join(',')
}

/** In /proc, times are in hundredths of a second. */
function cpuTicks(process: number | 'self', fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${process}/stat`, 'utf8')
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.reduce((sum, field) => sum + Number(values[field]), 0)
}
