import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { SandboxStatus } from '../../sandbox/control/status.ts'
import { processesOf, processMarker, stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { environment } from '../../src/runtime/env.ts'
import { eventually } from '../support/eventually.ts'

const program = join(import.meta.dirname, '../../bin/multinic')
let parent: string
let dir: string

before(async () => {
  parent = await mkdtemp(join(tmpdir(), 'multinic-commands-'))
  dir = join(parent, 'sandbox')
})
after(async () => {
  await sandbox('down')
  await rmdir(parent)
})

interface CommandResult {
  code: number
  out: string
  err: string
}

function sandbox(...args: string[]): Promise<CommandResult> {
  const env = { ...environment(), MULTINIC_SANDBOX_DIR: dir }
  return new Promise(resolve => {
    const child = execFile(program, ['sandbox', ...args], { env }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? 1, out, err }),
    )
  })
}

async function status(): Promise<SandboxStatus> {
  const { code, out, err } = await sandbox('status', '-o', 'json')
  assert.equal(code, 0, err)
  return JSON.parse(out) as SandboxStatus
}

async function ready(): Promise<SandboxStatus> {
  return eventually(
    async () => {
      const now = await status()
      assert.ok(now.ready, JSON.stringify(now.nodes))
      return now
    },
    { within: 90_000, every: 100 },
  )
}

/** Namespaces, mounts, processes and files of this sandbox on the machine. */
function leftovers(): string[] {
  const { prefix } = stateDir(dir)
  const namespaces = readdirSync('/run/netns').filter(name => name.startsWith(prefix))
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter(line => line.includes(dir))
  const processes = readdirSync('/proc').filter(
    pid => /^\d+$/.test(pid) && environOf(pid).includes(`${processMarker}=${dir}`),
  )
  return [...namespaces, ...mounts, ...processes, ...(existsSync(dir) ? [dir] : [])]
}

function fabricLinks(prefix: string): string[] {
  const links = execFileSync('ip', ['-n', `${prefix}fabric`, '-j', 'link', 'show', 'type', 'veth'], {
    encoding: 'utf8',
  })
  return (JSON.parse(links) as { ifname: string }[]).map(({ ifname }) => ifname)
}

/** The process may have ended already. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function environOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

test('up returns when four ports on three nodes are configured NICs, and suggests next steps', async () => {
  const { code, out, err } = await sandbox('up')
  assert.equal(code, 0, `${out}\n${err}`)
  assert.match(out, /starting 3 nodes/)
  assert.match(out, /├─ worker-1 {2}Configured\n│ {2}├─ multinic0 +Configured +10\.10\.0\.10 +mtu 9000/)
  assert.match(out, /export KUBECONFIG=.*biz\/kubeconfig/)
  assert.match(out, /sandbox attach --vm worker-2 --subnet storage/)
})

test('a second up reports the running sandbox and shows it', async () => {
  const { code, out } = await sandbox('up')
  assert.equal(code, 0)
  assert.match(out, /a sandbox is already running/)
  assert.match(out, /sandbox ready/)
})

test('the JSON status has the keys that scripts rely on', async () => {
  const now = await ready()
  assert.deepEqual(Object.keys(now), ['ready', 'nodes', 'kubeconfigs', 'tokenFile', 'urls', 'faults', 'host'])
  assert.deepEqual(
    now.nodes.map(({ name, interfaces }) => [name, ...interfaces.map(nic => `${nic.name} ${nic.status}`)]),
    [
      ['worker-1', 'multinic0 Configured', 'multinic1 Configured'],
      ['worker-2', 'multinic0 Configured'],
      ['worker-3', 'multinic0 Configured'],
    ],
  )
  assert.deepEqual(Object.keys(now.kubeconfigs), ['management', 'biz'])
  for (const name of ['inventory', 'viola', 'keystone', 'neutron', 'nova', 'contrabass'])
    assert.ok(now.urls[name], name)
})

test('attach, detach, reboot and shell work', async () => {
  const attached = await sandbox('attach', '--vm', 'worker-3', '--subnet', 'storage', '--count', '2')
  assert.match(attached.out, /^attached port \S+ {2}fa:16:3e:\S+ {2}10\.10\.0\.12\nattached port .* 10\.10\.0\.13\n$/)
  assert.equal((await ready()).nodes[2]?.interfaces.length, 3)

  assert.equal((await sandbox('detach', '--vm', 'worker-3', '--name', 'multinic2')).code, 0)
  assert.deepEqual(
    (await ready()).nodes[2]?.interfaces.map(nic => nic.name),
    ['multinic0', 'multinic1'],
  )

  assert.equal((await sandbox('reboot', 'worker-3')).out, 'worker-3 rebooted\n')
  const shell = await sandbox('shell', 'worker-3', 'sh', '-c', 'hostname; ls /sys/class/net /etc/netplan')
  assert.equal(shell.code, 0, shell.err)
  assert.match(shell.out, /^worker-3\n/)
  assert.match(shell.out, /91-multinic1\.yaml/)
  assert.match(shell.out, /^multinic1$/m, 'experience Low: /sys is that of the node')
})

test('a fault starts by its name, is shown, and ends after its time or by a command', async () => {
  const listed = await sandbox('fault')
  assert.match(listed.out, /^slow-neutron +Neutron takes 2 seconds for each response; recovery: it answers normally$/m)
  const on = await sandbox('fault', 'full-disk', '--node', 'worker-2')
  assert.match(on.out, /recovery with "fault off full-disk": the disk has free space/, on.err)
  assert.match((await sandbox('fault', 'slow-neutron', '--for', '1s')).out, /recovery after 1 s: it answers normally/)
  assert.match((await sandbox('status')).out, /\nfaults\n {2}full-disk on worker-2 {2}nodes have a full disk/)
  await eventually(async () =>
    assert.deepEqual(
      (await status()).faults.map(fault => fault.name),
      ['full-disk'],
    ),
  )
  assert.equal((await sandbox('fault', 'off')).out, 'no active faults\n')
  assert.deepEqual((await ready()).faults, [])
})

test('experience M13: mistakes exit with 2 and give an error message without a stack trace', async () => {
  const cases: [args: string[], message: RegExp][] = [
    [
      ['attach', '--vm', 'worker-9', '--subnet', 'storage'],
      /VM worker-9 not found; the VMs are worker-1, worker-2, worker-3/,
    ],
    [
      ['attach', '--vm', 'worker-1', '--subnet', 'home'],
      /subnet home not found; the subnets are nodes, storage, backup, app/,
    ],
    [['detach', '--vm', 'worker-1'], /specify one of --port ID, --name multinic1 and --all/],
    [['detach', '--vm', 'worker-1', '--name', 'multinic7'], /worker-1 has no attached port multinic7/],
    [['reboot', 'worker-9'], /node worker-9 not found/],
    [['status', '-o', 'yaml'], /Allowed choices are tree, json/],
    [['fault', 'slow-neutron', 'slow-nova'], /unexpected argument "slow-nova"/],
    [['up', '--simulated', '--vm'], /cannot be used with option/],
    [['fault', 'slow-nuetron'], /fault "slow-nuetron" not found; did you mean slow-keystone, slow-neutron/],
    [['fault', 'slow-neutron', '--for', 'ever'], /must be a duration, such as 300ms/],
    [['up', '--nodes', 'none'], /must be a positive integer/],
  ]
  for (const [args, message] of cases) {
    const { code, err } = await sandbox(...args)
    assert.equal(code, 2, args.join(' '))
    assert.match(err, message)
    assert.doesNotMatch(err, /\bat .*\.ts:\d+/)
  }
})

test('a reboot that fails is reported, and its node is down', async () => {
  const { prefix } = stateDir(dir)
  // Somebody removes the cables of all nodes: a node cannot unplug its NICs.
  for (const name of fabricLinks(prefix)) execFileSync('ip', ['-n', `${prefix}fabric`, 'link', 'delete', name])
  const { code, err } = await sandbox('reboot', 'worker-2')
  assert.equal(code, 1)
  assert.match(err, /multinic: worker-2 is down: reboot failed: ip link delete .*Cannot find device/)
  assert.match((await sandbox('status')).out, /^sandbox not ready yet\n(.*\n)*├─ worker-2 {2}Down {2}reboot failed: /)
})

test('down removes everything, and succeeds if there is nothing to remove', async () => {
  assert.notDeepEqual(leftovers(), [])
  assert.equal((await sandbox('down')).code, 0)
  assert.deepEqual(leftovers(), [])
  const again = await sandbox('down')
  assert.deepEqual([again.code, again.out], [0, `no sandbox is running in ${dir}\n`])
  assert.match((await sandbox('status')).err, /no sandbox is running in/)
})

test('up and down never empty a directory that is not a sandbox', async () => {
  const precious = join(parent, 'precious')
  await mkdir(precious)
  await writeFile(join(precious, 'thesis.txt'), 'years of work')
  for (const command of ['up', 'down']) {
    const { code, err } = await sandbox(command, '--dir', precious)
    assert.equal(code, 1)
    assert.match(err, /precious is not a sandbox directory; choose a new or an empty directory/)
  }
  assert.equal(readFileSync(join(precious, 'thesis.txt'), 'utf8'), 'years of work')
  await rm(precious, { recursive: true })
})

test('without permission for namespaces, nodes are simulated, and up prints why', async () => {
  const without = ['--bounding-set=-sys_admin', program, 'sandbox', 'up', '--nodes', '2', '--dir', dir]
  const printed = await new Promise<string>(resolve => execFile('setpriv', without, (_error, out) => resolve(out)))
  assert.match(printed, /^nodes are simulated in memory: this system does not allow namespaces \(.*not permitted\)\n/)
  assert.match(
    printed,
    /sandbox ready \(simulated\)\n├─ worker-1 {2}Configured\n│ {2}├─ multinic0 +Configured +10\.10\.0\.10/,
  )
  assert.equal((await sandbox('reboot', 'worker-1')).out, 'worker-1 rebooted\n')
  await sandbox('attach', '--vm', 'worker-2', '--subnet', 'backup')
  const { host, nodes } = await ready()
  assert.deepEqual([host, ...nodes.map(({ interfaces }) => interfaces.length)], ['simulated', 2, 2])
  assert.match((await sandbox('shell', 'worker-1')).err, /simulated nodes have no shell/)
  assert.equal((await sandbox('down')).code, 0)
  assert.deepEqual(leftovers(), [])
})

test('up after a crash cleans up and starts', async () => {
  const state = stateDir(dir)
  const starting = sandbox('up', '--nodes', '1')
  await eventually(() => assert.ok(readdirSync('/run/netns').some(name => name.startsWith(state.prefix))), {
    within: 30_000,
  })
  kill(Number(JSON.parse(readFileSync(state.path('owner.json'), 'utf8')).pid))
  assert.equal((await starting).code, 1)
  const { code, out } = await sandbox('up', '--nodes', '1')
  assert.equal(code, 0, out)
  assert.match(out, /cleaning up after a sandbox that crashed/)
})

test('down after kill -9 of all processes removes everything too', async () => {
  const state = stateDir(dir)
  const all = await processesOf(state)
  assert.ok(all.length >= 4, `${all}`)
  for (const pid of all) kill(pid)
  await eventually(async () => assert.deepEqual(await processesOf(state), []))
  assert.notDeepEqual(leftovers(), [])
  assert.equal((await sandbox('down')).code, 0)
  assert.deepEqual(leftovers(), [])
})
