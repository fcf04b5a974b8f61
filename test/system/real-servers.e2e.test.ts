/**
 * The sandbox on real parts, by the command that people type: on etcd, kube-apiserver and kube-controller-manager (of
 * ../rigs/kubernetes/rig.ts), and on Keystone, Neutron, Nova and RabbitMQ (of ../rigs/openstack/rig.ts). A crash leaves
 * nothing of them behind.
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
import { typing } from './run-command.ts'

let parent: string
let dir: string
let sandbox: ReturnType<typeof typing>

before(async () => {
  parent = await mkdtemp(join(tmpdir(), 'multinic-real-'))
  dir = join(parent, 'sandbox')
  sandbox = typing(dir)
})
after(async () => {
  await sandbox('down')
  await rm(parent, { recursive: true })
})

async function done(...args: string[]): Promise<string> {
  const { code, out } = await sandbox(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${out}`)
  return out
}

/** kill -9 of the sandbox itself, then `down`. */
async function crashed(program: RegExp): Promise<void> {
  const lines = (await processesOf(stateDir(dir))).map(each => readFileSync(`/proc/${each}/cmdline`, 'utf8'))
  assert.ok(
    lines.some(line => program.test(line)),
    lines.join('\n'),
  )
  const { pid } = JSON.parse(readFileSync(join(dir, 'owner.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  await done('down')
  assert.deepEqual(await processesOf(stateDir(dir)), [])
  assert.ok(!existsSync(dir))
}

test('on a real Kubernetes a port becomes a NIC, and a killed API server is waited for', {
  timeout: 300_000,
}, async () => {
  assert.match(await done('up', '--kubernetes', 'real', '--nodes', '2'), /sandbox ready/)
  const control = connectControl(stateDir(dir))
  const { kubeconfigs } = await control.status()
  await control.close()
  const kubectl = async (...args: string[]) =>
    (await run(binary('kubectl'), args, { env: { KUBECONFIG: kubeconfigs.biz } })).stdout
  assert.match(await kubectl('version'), /Server Version: v1\.\d+\.\d+\n/)
  assert.match(await kubectl('get', 'nodes', '--no-headers'), /worker-1 +Ready.*\nworker-2 +Ready/)

  await done('fault', 'unreachable-biz-api')
  assert.match(await done('status'), /Unknown {2}the API server of the Biz cluster cannot be reached/)
  await done('fault', 'off')
  await done('play', 'attach')
  assert.match(await kubectl('get', 'mnnc', '-n', 'multinic-system', '--no-headers'), /worker-2 .* Configured +1\/1/)
  assert.match((await sandbox('fault', 'conflicts')).out, /conflicts: not available with --kubernetes real/)
  await crashed(/kube-apiserver/)
})

test('on a real OpenStack Nova attaches and detaches what becomes a NIC', { timeout: 400_000 }, async () => {
  const up = await done('up', '--openstack', 'real', '--nodes', '2')
  assert.match(up, /sandbox ready/)
  assert.match(up, /keystone +http:\/\/127\.0\.0\.1:5000\/v3/)
  await done('play', 'attach')
  const refused = await sandbox('fault', 'slow-neutron')
  assert.match(refused.out, /slow-neutron: not available with --openstack real/)
  await crashed(/neutron-server/)
})
