/** The sandbox of a user who is not root. The test needs root only to switch to that user. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ensureBundles } from '../../sandbox/lifecycle/bundles.ts'
import { findOwner, processesOf, stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { environment } from '../../src/runtime/env.ts'
import { eventually } from '../support/eventually.ts'

const program = join(import.meta.dirname, '../../bin/multinic')
const nobody = 65_534
const asNobody = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups']
/** A directory that others can enter: TMPDIR of the tests belongs to root. */
const parent = await mkdtemp('/var/tmp/multinic-rootless-')
const state = stateDir(join(parent, 'sandbox'))

before(async () => {
  await chown(parent, nobody, nobody)
  await chmod(parent, 0o755)
  // That user cannot write to this checkout.
  await ensureBundles()
})
after(async () => {
  await sandbox('down')
  await rm(parent, { recursive: true })
})

interface CommandResult {
  code: number
  out: string
  err: string
}

function sandbox(...args: string[]): Promise<CommandResult> {
  const env = { ...environment(), TMPDIR: parent, MULTINIC_SANDBOX_DIR: state.dir }
  return new Promise(resolve => {
    const child = execFile('setpriv', [...asNobody, program, 'sandbox', ...args], { env }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? 1, out, err }),
    )
  })
}

/** Why an unprivileged user cannot run a sandbox here, or undefined. */
function unavailable(): string | undefined {
  const trials: [command: string[], problem: string][] = [
    [[process.execPath, '--version'], 'other users cannot read this checkout'],
    [['unshare', '--user', '--map-root-user', '--mount', 'true'], 'this kernel does not allow user namespaces'],
  ]
  return trials.find(([command]) => {
    try {
      execFileSync('setpriv', [...asNobody, ...command], { stdio: 'ignore' })
      return false
    } catch {
      return true
    }
  })?.[1]
}

const skip = unavailable() ?? false

test('a user without root gets the same nodes with real NICs in a user namespace', { skip }, async () => {
  const { code, out, err } = await sandbox('up', '--nodes', '2')
  assert.equal(code, 0, `${out}\n${err}`)
  assert.match(out, /^running without root: nodes are network namespaces in your own user namespace\n/)
  assert.match(out, /├─ worker-1 {2}Configured\n│ {2}├─ multinic0 +Configured +10\.10\.0\.10 +mtu 9000/)
  assert.equal(
    existsSync(`/run/netns/${state.prefix}worker-1`),
    false,
    'its namespaces are not visible on this machine',
  )

  const shell = await sandbox('shell', 'worker-1', 'sh', '-c', 'id -u; hostname; ls /etc/netplan; ip -br address')
  assert.equal(shell.code, 0, shell.err)
  assert.match(shell.out, /^0\nworker-1\n[\s\S]*90-multinic0\.yaml[\s\S]*\nmultinic0\S* +UP +10\.10\.0\.10\/24/)

  assert.equal((await sandbox('reboot', 'worker-1')).out, 'worker-1 rebooted\n')
  const again = await sandbox('shell', 'worker-1', 'ip', '-br', 'address')
  assert.match(again.out, /multinic1\S* +UP +10\.20\.0\.10\/24/)
})

test('down after kill -9 of its first process removes everything', { skip }, async () => {
  const owner = (await findOwner(state)) ?? assert.fail('the sandbox does not run')
  process.kill(owner, 'SIGKILL')
  await eventually(async () => assert.ok(!(await processesOf(state)).includes(owner)))
  assert.ok((await processesOf(state)).length >= 3, 'the components still run')
  assert.equal((await sandbox('down')).code, 0)
  assert.deepEqual([...(await processesOf(state)), ...readdirSync(parent)], [])
})
