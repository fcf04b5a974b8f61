/**
 * A process that plays one seed to the agent of one source tree: `agent-side.ts ROOT SEED OPERATIONS FILE`. Needs clock.ts
 * preloaded. The node is the simulated kernel of this tree and a directory. Inputs, drift, NICs that come and go, failing writes
 * and kills go in; every change of the host, the report, the files and the state of the kernel come out.
 *
 * Knows of the judged tree only `runAgent` of src/agent/main.ts and the functions of its `Host`.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { simulatedHost } from '../../sandbox/nodes/simulated/host.ts'
import { runIp } from '../../sandbox/nodes/simulated/ip.ts'
import { addAddress, addDevice, createNamespace, removeDevice, setUp } from '../../sandbox/nodes/simulated/kernel.ts'
import type { Namespace } from '../../sandbox/nodes/simulated/network.ts'
import type { Host } from '../../src/agent/host/host.ts'
import type { runAgent } from '../../src/agent/main.ts'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { silent } from '../../src/telemetry/log.ts'
import { advance, nextDue, turn } from './clock.ts'
import type { Step } from './compare.ts'
import { drawsOf, type Operations } from './draws.ts'
import type { Sent } from './recorder.ts'

const [tree = '', seed = '1', count = '1', file = ''] = process.argv.slice(2)
const { runAgent: run } = (await import(join(tree, 'src/agent/main.ts'))) as { runAgent: typeof runAgent }
const dir = mkdtempSync(join(tmpdir(), 'multinic-judge-'))
const draws = drawsOf(Number(seed))
const { below, pick, chance } = draws

const directories = ['etc/netplan', 'etc/systemd/network', 'etc/sysctl.d', 'etc/udev/rules.d', 'etc/multinic']
const moreDirectories = ['etc/systemd/system', 'var/lib/multinic', 'host', 'dev', 'sys/class/dmi/id']
for (const directory of [...directories, ...moreDirectories]) mkdirSync(join(dir, directory), { recursive: true })
const machineId = '6f1c2a10-0000-4000-8000-000000000001'
writeFileSync(join(dir, 'sys/class/dmi/id/product_uuid'), `${machineId}\n`)
/** Settings of the agent of the whole seed. */
const env = pick<Record<string, string>>([
  ...[
    {},
    { NETWORK_PROBE: 'off' },
    { NETWORK_PROBE: 'required' },
    { POLICY_ROUTING: 'false' },
    { DUPLICATE_CHECK: 'off' },
  ],
])

const all = new Map<string, Namespace>()
const primary = 'fa:16:3e:ff:00:00'
let sent: Sent[] = []
let [generation, boots] = [0, 0]
let namespace = boot()

function boot(): Namespace {
  const before = all.get('node')?.devices.map(({ macAddress }) => macAddress) ?? []
  writeFileSync(join(dir, 'host/boot_id'), `6f1c2a10-0000-4000-8000-${String(++boots).padStart(12, '0')}\n`)
  const next = createNamespace('node')
  all.set('node', next).set('others', createNamespace('others'))
  const ip = (line: string) => runIp(all, next, ['-batch', '-'], [line])
  plug(next, primary, '10.0.0.1/24')
  for (const line of [
    'link set dev ens3 up',
    'address add 10.0.0.10/24 dev ens3',
    'route add default via 10.0.0.1 dev ens3',
  ])
    ip(line)
  for (const macAddress of before.filter(mac => /:00:00:/.test(mac) && mac !== '00:00:00:00:00:00'))
    plugNumber(next, macAddress)
  return next
}

function plug(node: Namespace, macAddress: string, gateway: string): void {
  const others = all.get('others') as Namespace
  const name = macAddress === primary ? 'ens3' : `enp${node.nextIndex}s0`
  const device = addDevice(node, { name, kind: 'veth', macAddress, mtu: 1500 })
  const peer = addDevice(others, {
    name: `p${others.nextIndex}`,
    kind: 'veth',
    macAddress: `02${macAddress.slice(2)}`,
    mtu: 1500,
  })
  Object.assign(device, { peer })
  Object.assign(peer, { peer: device })
  setUp(peer, true)
  addAddress(peer, gateway)
}

const macOf = (index: number) => `fa:16:3e:00:00:0${index}`
const plugNumber = (node: Namespace, macAddress: string) => plug(node, macAddress, `10.1${macAddress.at(-1)}.0.1/24`)

function interfaceOf(index: number): AgentInput['interfaces'][number] {
  const network = `10.1${index}.0`
  return {
    ...{ id: index, name: `multinic${index}`, portId: `port-${index}`, macAddress: macOf(index) },
    ...{ address: `${network}.${10 + below(3)}`, cidr: `${network}.0/24`, mtu: pick([1400, 1450, 1500, 9000]) },
    ...(chance(0.8) && { gateway: `${network}.1` }),
    ...(chance(0.3) && { routes: [{ destination: `192.168.${below(9)}.0/24`, nexthop: `${network}.1` }] }),
    ...(chance(0.2) && { addresses: [`${network}.${10 + below(3)}/24`, `fd00:${index}::${1 + below(9)}/64`] }),
    ...(chance(0.2) && { allowedAddressPairs: [`10.9.${below(9)}.0/24`] }),
  }
}

const note = (method: string, path: string, body: string) =>
  void sent.push({ service: 'agent', method, path: path.replace(dir, ''), body: body.replaceAll(dir, ''), status: 200 })

const changing = ['writeFile', 'rename', 'removeFile', 'makeDirectory', 'removeDirectory', 'writeValue'] as const

/** Notes what the agent changes. At the given change it is killed, or the change fails. */
function judged(host: Host, at: number, how: 'kill' | 'fail'): Host {
  let [changes, isDead] = [0, false]
  const change = (text: string) => {
    if (isDead) throw new Error('killed')
    note('CHANGE', 'host', text)
    if (++changes !== at) return
    isDead = how === 'kill'
    throw new Error(isDead ? 'killed' : 'ENOSPC: no space left on device')
  }
  const alive = Object.fromEntries(
    Object.entries(host).map(([name, act]) => [
      name,
      (...args: unknown[]) => {
        if (isDead) throw new Error('killed')
        return (act as (...args: unknown[]) => unknown)(...args)
      },
    ]),
  ) as unknown as Host
  const noted = changing.map(name => [
    name,
    (...args: unknown[]) => {
      change(`${name} ${JSON.stringify(args)}`)
      return (host[name] as (...args: unknown[]) => void)(...args)
    },
  ])
  return {
    ...alive,
    ...(Object.fromEntries(noted) as Pick<Host, (typeof changing)[number]>),
    async ip(args, lines = []) {
      if (!args.includes('-batch') || args.includes('-j')) return alive.ip(args, lines)
      const done: string[] = []
      try {
        for (const line of lines) {
          change(`ip ${args.join(' ')}: ${line}`)
          done.push(line)
        }
      } catch (error) {
        if (done.length > 0) await host.ip(args, done)
        if (isDead) throw error
        return {
          code: 1,
          stdout: '',
          stderr: `RTNETLINK answers: No buffer space available\nCommand failed -:${done.length + 1}\n`,
        }
      }
      return host.ip(args, lines)
    },
    async nft(script) {
      if (!script.startsWith('list ')) change(`nft ${script}`)
      return alive.nft(script)
    },
    writeReport: (path, text) => note('REPORT', path, text),
  }
}

async function agent(input: Partial<AgentInput>, at = 0, how: 'kill' | 'fail' = 'fail'): Promise<void> {
  const whole = {
    ...{ version: 1, mode: 'apply', nodeName: 'worker-1', instanceId: machineId, generation: ++generation },
    ...{ specHash: `hash-${generation}`, nodeAddresses: ['10.0.0.10'], interfaces: [], ...input },
  }
  const mounts = [{ source: dir, target: '', readOnly: false, kind: 'directory' as const }]
  const host = judged(simulatedHost({ all, namespace, mounts, listening: new Set() }), at, how)
  let result: string | undefined
  const ended = run({ env: { ...env, MULTINIC_INPUT: JSON.stringify(whole), NIC_WAIT: '2s' }, host, log: silent })
  ended.then(
    code => {
      result = `exit ${code}`
    },
    error => {
      result = String(error)
    },
  )
  for (let turns = 1; result === undefined; turns++) {
    await turn()
    if (turns % 10 === 0 && Number.isFinite(nextDue())) await advance(nextDue())
  }
  note('RESULT', 'agent', result)
}

/** Files, and what `ip` and `nft` show. */
async function state(): Promise<void> {
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
    if (entry.isFile())
      note('STATE', join(entry.parentPath, entry.name), readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  const host = simulatedHost({ all, namespace, mounts: [], listening: new Set() })
  for (const family of ['-4', '-6'])
    for (const kind of ['address', 'route show table all', 'rule'])
      note('STATE', `ip ${family} ${kind}`, (await host.ip(['-j', '-d', family, ...kind.split(' ')])).stdout)
  note('STATE', 'nft', (await host.nft('list ruleset\n')).stdout)
  for (const { name, settings, altnames, up } of namespace.devices)
    note('STATE', `device ${name}`, JSON.stringify({ up, altnames, settings: [...settings] }))
}

let wanted: AgentInput['interfaces'] = []
const next = () => {
  if (chance(0.6) || wanted.length === 0) wanted = [0, 1, 2, 3, 4].filter(() => chance(0.6)).map(interfaceOf)
  return wanted
}
const ours = () => namespace.devices.filter(({ macAddress }) => macAddress.startsWith('fa:16:3e:00'))
const operations: Operations = {
  apply: [8, () => agent({ interfaces: next() })],
  'apply again': [4, () => agent({ interfaces: wanted })],
  'kill an apply': [6, () => agent({ interfaces: next() }, 1 + below(40), 'kill')],
  'fail a change': [5, () => agent({ interfaces: next() }, 1 + below(40), 'fail')],
  check: [2, () => agent({ interfaces: wanted, mode: 'check' })],
  plan: [2, () => agent({ interfaces: next(), mode: 'plan' })],
  cleanup: [1, () => agent({ mode: 'cleanup' })],
  'an input for another machine': [1, () => agent({ interfaces: wanted, instanceId: 'another' })],
  'plug or unplug a NIC': [
    5,
    () => {
      const macAddress = macOf(below(5))
      const found = namespace.devices.find(device => device.macAddress === macAddress)
      if (found) removeDevice(found)
      else if (namespace.devices.every(({ name }) => name !== `enp${namespace.nextIndex}s0`))
        plugNumber(namespace, macAddress)
    },
  ],
  drift: [
    5,
    () => {
      const [device, file] = [
        pick(ours()),
        pick(readdirSync(join(dir, 'etc/netplan')).filter(name => name.endsWith('.yaml'))),
      ]
      if (file && chance(0.3)) return writeFileSync(join(dir, 'etc/netplan', file), 'network: {}\n')
      if (!device) return undefined
      const line = pick([
        `link set dev ${device.name} mtu 1300`,
        `link set dev ${device.name} down`,
        `address flush dev ${device.name}`,
      ])
      return runIp(all, namespace, ['-batch', '-'], [line])
    },
  ],
  reboot: [
    1,
    () => {
      namespace = boot()
    },
  ],
}
const steps: Step[] = []
try {
  for (const index of [0, 1, 2]) plugNumber(namespace, macOf(index))
  for (let step = 0; step < Number(count); step++) {
    const [operation, act] = draws.operation(operations)
    await act()
    await advance(Date.now() + 1_000)
    await state()
    steps.push({ operation, sent })
    sent = []
  }
  writeFileSync(file, JSON.stringify(steps))
} finally {
  rmSync(dir, { recursive: true, force: true })
}
process.exit(0)
