/**
 * Runs the agent bundle once on a simulated node, and prints the code that V8 compiled for it: `warm-up.ts BUNDLE`.
 *
 * The output contains only functions that ran: reading the others at every start would cost more than it saves.
 */
import { readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { Script } from 'node:vm'
import { runNft } from '../sandbox/nodes/simulated/nft.ts'

const [bundle = ''] = process.argv.slice(2)
const requireReal = createRequire(import.meta.url)
const macAddress = 'fa:16:3e:00:00:01'

/** What `ip` prints for a command, before and after the agent changed the node. */
function ipOutput(command: string, done: boolean): unknown[] {
  const link = (ifindex: number, ifname: string, more: object = {}) => ({
    ifindex,
    ifname,
    flags: ['UP', 'LOWER_UP'],
    mtu: 1500,
    link_type: '[1]',
    max_mtu: 65_535,
    addr_info: [],
    ...more,
  })
  const address = (local: string, more: object = {}) => ({
    family: local.includes(':') ? 'inet6' : 'inet',
    local,
    prefixlen: local.includes(':') ? 64 : 24,
    scope: '0',
    valid_life_time: 0xffffffff,
    preferred_life_time: 0xffffffff,
    ...more,
  })
  const nic = done
    ? {
        mtu: 1450,
        altnames: ['port'],
        addr_info: ['10.1.0.10', 'fd00::10'].map(ip => address(ip, { noprefixroute: true })),
      }
    : { flags: [] }
  const lists: Record<string, unknown[]> = {
    'address show': [
      link(1, 'lo', { link_type: '[772]' }),
      link(2, 'ens3', { address: 'fa:16:3e:ff:00:00', addr_info: [address('10.0.0.10')] }),
      link(3, done ? 'multinic0' : 'ens4', { address: macAddress, ...nic }),
    ],
    'route show table all': [
      { dst: 'default', gateway: '10.0.0.1', dev: 'ens3', protocol: '3', flags: [] },
      { dst: 'fe80::/64', dev: 'ens3', protocol: '2', metric: 256, flags: [], pref: 'medium' },
      ...added.routes,
    ],
    'rule list': [{ priority: 0, src: 'all', table: '255' }, ...added.rules4],
    'neigh show': [
      { dst: '10.0.0.1', dev: 'ens3', lladdr: 'fa:16:3e:00:00:fe', state: ['REACHABLE'] },
      ...(done ? [{ dst: '10.1.0.1', dev: 'multinic0', lladdr: 'fa:16:3e:00:00:fe', state: ['REACHABLE'] }] : []),
    ],
  }
  return lists[command] ?? lookup(command)
}

function ip6Output(): unknown[] {
  return [{ priority: 0, src: 'all', table: '255' }, ...added.rules6]
}

/** What the agent added, as `ip` lists it. */
const added = { routes: [] as unknown[], rules4: [] as unknown[], rules6: [] as unknown[] }

function add(command: string): void {
  const [object, verb, ...words] = command.split(' ')
  if (verb !== 'add' && verb !== 'replace') return
  const argument = (key: string) => (words.includes(key) ? words[words.indexOf(key) + 1] : undefined)
  const given = (entries: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined))
  const numberOf = (key: string) => (words.includes(key) ? Number(argument(key)) : undefined)
  const common = { table: argument(object === 'rule' ? 'lookup' : 'table'), protocol: argument('protocol') }
  if (object === 'route')
    added.routes.push({
      ...given({ ...common, gateway: argument('via'), prefsrc: argument('src'), metric: numberOf('metric') }),
      dst: words[0]?.replace(/^(0\.0\.0\.0|::)\/0$/, 'default'),
      dev: argument('dev') === 'if2' ? 'ens3' : 'multinic0',
      flags: words.includes('onlink') ? ['onlink'] : [],
      ...(words[0]?.includes(':') && { pref: 'medium' }),
    })
  if (object !== 'rule') return
  const [src = '', length] = (argument('from') ?? '').split('/')
  const [fwmark, fwmask] = (argument('fwmark') ?? '').split('/')
  const list = src.includes(':') ? added.rules6 : added.rules4
  list.push({
    ...given({
      ...common,
      iif: argument('iif'),
      goto: numberOf('goto'),
      suppress_prefixlen: numberOf('suppress_prefixlength'),
    }),
    ...(length === '0' ? { src: 'all' } : { src, srclen: Number(length) }),
    ...(fwmask && { fwmark, fwmask }),
    ...(words.includes('not') && { not: null }),
    ...(words.includes('nop') && { nop: null }),
    priority: numberOf('priority'),
  })
}

/** Which way packets take: those from or to the agent's NIC, replies with its mark, and those of the node. */
function lookup(command: string): unknown[] {
  const [, , dst = '', selector, value] = command.split(' ')
  const from = selector === 'from' ? value : undefined
  const own = /^(10\.1\.|fd00::)/.test(from ?? dst) || selector === 'mark'
  return [{ dst, ...(from && { from }), dev: own ? 'multinic0' : 'ens3', table: own ? '100' : '254', flags: [] }]
}

let changed = false

/** What `ip` prints for the commands of a batch or query. */
function printed(commands: readonly string[], family = ''): string {
  return commands
    .filter(command => !/^neigh (replace|del)/.test(command))
    .map(command => (family === '-6' ? ip6Output() : ipOutput(command, changed)))
    .map(list => `${JSON.stringify(list)}\n`)
    .join('')
}

const kernel = { tables: new Map<string, string>() }

const childProcess = {
  spawnSync(command: string, args: string[], { input = '' }: { input?: string }) {
    if (command === 'nft') {
      const { code, ...output } = runNft(kernel, input)
      return { status: code, ...output }
    }
    if (input.includes(' name multinic0')) changed = true
    for (const line of args.includes('-j') ? [] : input.trim().split('\n')) add(line)
    return { status: 0, stdout: args.includes('-j') ? printed(input.trim().split('\n'), args[0]) : '', stderr: '' }
  },
  /** Answers each query at once. */
  spawn() {
    const handlers: Record<string, (chunk: Buffer) => void> = {}
    const stream = (name: string) => ({ on: (_: 'data', handle: (chunk: Buffer) => void) => (handlers[name] = handle) })
    let lines = 0
    const write = (text: string) => {
      const commands = text.trim().split('\n')
      const end = commands.pop()
      lines += commands.length + 1
      handlers['stdout']?.(Buffer.from(printed(commands)))
      handlers['stderr']?.(Buffer.from(`Object "${end}" is unknown, try "ip help".\nCommand failed -:${lines}\n`))
    }
    const stdin = { on() {}, end() {}, write }
    return { stdin, stdout: stream('stdout'), stderr: stream('stderr'), on() {} }
  },
}

const files = new Map<string, string>([
  ['/host/boot_id', 'boot\n'],
  ['/etc/netplan/50-cloud-init.yaml', 'network: {version: 2}\n'],
  ...['packet', 'udp', 'udp6'].map(name => [`/proc/self/net/${name}`, 'sl\n'] as const),
])
const directories = [
  ...['/etc/netplan', '/etc/systemd/network', '/etc/systemd/system', '/etc/sysctl.d'],
  ...['/etc/multinic', '/var/lib/multinic'],
]
const conf = /^\/host\/proc\/sys\/net\/(ipv4|ipv6)\/conf/
const missing = () => Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
const open = new Map<number, string>()

/** The file system calls that the agent uses. */
const disk = {
  lstatSync(path: string) {
    const mode = /^\/etc\/(systemd|sysctl|multinic)/.test(path) ? 0o100644 : 0o100600
    return files.has(path) ? { mode, uid: 0, gid: 0, isFile: () => true } : undefined
  },
  statSync: () => undefined,
  readFileSync(path: string) {
    const text = files.get(path) ?? (conf.test(path) ? '0\n' : undefined)
    if (text === undefined) throw missing()
    return text
  },
  readdirSync(directory: string) {
    const names = [...files.keys()].filter(path => path.startsWith(`${directory}/`))
    if (names.length === 0 && !directories.includes(directory) && !conf.test(directory)) throw missing()
    return names.map(path => path.slice(directory.length + 1).split('/')[0])
  },
  openSync(path: string) {
    open.set(open.size + 3, path)
    return open.size + 2
  },
  writeFileSync(to: string | number, text: string) {
    files.set(typeof to === 'number' ? (open.get(to) ?? '') : to, text)
  },
  renameSync(from: string, to: string) {
    for (const [path, text] of [...files].filter(([path]) => path === from || path.startsWith(`${from}/`))) {
      files.delete(path)
      files.set(to + path.slice(from.length), text)
    }
  },
  rmSync: (path: string) => void files.delete(path),
  writeSync: (_to: number, bytes: Uint8Array) => bytes.length,
  ...Object.fromEntries(
    ['fchmodSync', 'fchownSync', 'fsyncSync', 'closeSync', 'mkdirSync', 'rmdirSync'].map(name => [name, () => {}]),
  ),
}

const server = {
  on: () => server,
  listen(path: string, then: () => void) {
    files.set(path, '')
    then()
  },
  unref() {},
  close() {},
}
/** A host without D-Bus. */
const noSocket = { once: (event: string, then: (error: Error) => void) => void (event === 'error' && then(missing())) }
const stubs: Record<string, unknown> = {
  'node:child_process': childProcess,
  'node:fs': disk,
  'node:net': { createServer: () => server, connect: () => noSocket },
  'node:v8': { setFlagsFromString() {} },
}

/** Packets go nowhere. */
const socket = {
  once() {},
  close() {},
  bind: (_: object, then: () => void) => then(),
  send: (...args: unknown[]) => (args.at(-1) as (error: null) => void)(null),
}
const loadReal = process.getBuiltinModule
const load = (name: string) => (name === 'node:dgram' ? { createSocket: () => socket } : loadReal(name))
Object.assign(process, { getBuiltinModule: load })

function run(script: Script): void {
  script.runInThisContext()((name: string) => stubs[name] ?? requireReal(name))
}

const text = readFileSync(bundle, 'utf8')
const nic = { id: 0, name: 'multinic0', macAddress, portId: 'port', address: '10.1.0.10', cidr: '10.1.0.0/24' }
const interfaces = [{ ...nic, addresses: ['fd00::10/64'], gateway: '10.1.0.1', mtu: 1450 }]
const input = { version: 1, mode: 'apply', nodeName: 'node', generation: 1, specHash: '', interfaces }
Object.assign(process.env, { MULTINIC_INPUT: JSON.stringify(input), NIC_WAIT: '0s' })

const script = new Script(text, { filename: basename(bundle) })
run(script)
process.once('exit', () => {
  const report = files.get('/dev/termination-log') ?? 'no report'
  if (report.includes('"verdict":"Configured"')) return void writeSync(1, script.createCachedData())
  // An error thrown here would not change the exit code that the agent has set.
  process.exitCode = 1
  writeSync(2, `the warm-up run of the agent failed: ${report}\n`)
})
