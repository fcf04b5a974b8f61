/**
 * The commands of the sandbox with real servers: etcd, kube-apiserver and kube-controller-manager
 * (../rigs/kubernetes/rig.ts), and Keystone, Neutron, Nova and RabbitMQ (../rigs/openstack/rig.ts). After a crash `down`
 * removes all of them.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connectControl } from '../../sandbox/control/client.ts'
import { processesOf, stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { run } from '../rigs/process.ts'
import { commandRunner } from './run-command.ts'

let parent: string
let dir: string
let sandbox: ReturnType<typeof commandRunner>

before(async () => {
  parent = await mkdtemp(join(tmpdir(), 'multinic-real-'))
  dir = join(parent, 'sandbox')
  sandbox = commandRunner(dir)
})
after(async () => {
  await sandbox('down')
  await rm(parent, { recursive: true })
})

async function succeed(...args: string[]): Promise<string> {
  const { code, out } = await sandbox(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${out}`)
  return out
}

/** Kills the sandbox with SIGKILL, then runs `down`. */
async function crashAndRemove(program: RegExp): Promise<void> {
  const lines = (await processesOf(stateDir(dir))).map(process => readFileSync(`/proc/${process}/cmdline`, 'utf8'))
  assert.ok(
    lines.some(line => program.test(line)),
    lines.join('\n'),
  )
  const { pid } = JSON.parse(readFileSync(join(dir, 'owner.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  await succeed('down')
  assert.deepEqual(await processesOf(stateDir(dir)), [])
  assert.ok(!existsSync(dir))
}

test('with a real Kubernetes a port becomes a NIC, and the commands wait for a killed API server', {
  timeout: 300_000,
}, async () => {
  assert.match(await succeed('up', '--kubernetes', 'real', '--nodes', '2'), /sandbox ready/)
  const control = connectControl(stateDir(dir))
  const { kubeconfigs } = await control.status()
  await control.close()
  const kubectl = async (...args: string[]) =>
    (await run(binary('kubectl'), args, { env: { KUBECONFIG: kubeconfigs.biz } })).stdout
  assert.match(await kubectl('version'), /Server Version: v1\.\d+\.\d+\n/)
  assert.match(await kubectl('get', 'nodes', '--no-headers'), /worker-1 +Ready.*\nworker-2 +Ready/)

  await succeed('fault', 'unreachable-biz-api')
  assert.match(await succeed('status'), /Unknown {2}the API server of the Biz cluster cannot be reached/)
  await succeed('fault', 'off')
  await succeed('play', 'attach')
  assert.match(await kubectl('get', 'mnnc', '-n', 'multinic-system', '--no-headers'), /worker-2 .* Configured +1\/1/)
  assert.match((await sandbox('fault', 'conflicts')).out, /conflicts: not available with --kubernetes real/)
  await crashAndRemove(/kube-apiserver/)
})

test('with a real OpenStack a port that Nova attaches becomes a NIC', { timeout: 400_000 }, async () => {
  const up = await succeed('up', '--openstack', 'real', '--nodes', '2')
  assert.match(up, /sandbox ready/)
  assert.match(up, /keystone +http:\/\/127\.0\.0\.1:\d+\/v3/)
  await succeed('play', 'attach')
  const refused = await sandbox('fault', 'wrong-clock')
  assert.match(refused.out, /wrong-clock: not available with --openstack real/)
  await succeed('fault', 'failing-neutron')
  await succeed('fault', 'off')
  await crashAndRemove(/neutron-server/)
})
