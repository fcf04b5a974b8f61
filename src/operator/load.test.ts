/** Many objects, many syncs and long outages, over real HTTP. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { afterEach, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { answering } from '../../test/openstack/stub-server.ts'
import { type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../contract/openstack-config.ts'
import { createLog } from '../telemetry/log.ts'

let stage: Stage
let storage: Subnet
/** How long each failed sync lets the next one wait, in ms. */
let waits: number[]

beforeEach(async () => {
  waits = []
  stage = await startStage(createLog({}, { write: heed }))
  storage = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/16', mtu: 9000 })
})
afterEach(() => stage.close())

function heed(line: string): void {
  const { message, afterMs } = JSON.parse(line)
  if (message === 'the sync failed') waits.push(afterMs)
}

function workerWithPort(name: string): Server {
  const server = addServer(stage.world, name)
  setPortStatus(stage.world, addPort(stage.world, { server, subnet: storage }).id, 'ACTIVE')
  return server
}

async function syncs(): Promise<number> {
  const text = await (await request(`${stage.operatorUrl()}/metrics`)).body.text()
  return Number(/^multinic_operator_sync_seconds_count (\S+)$/m.exec(text)?.[1] ?? 0)
}

test('of 100 objects of ten providers one provider hangs: the 90 others are served', async () => {
  const { user, provider } = stage.world
  const attributes = { adminId: user.name, adminPw: encrypted(user.password, provider.encryptKey), domain: user.domain }
  await using contrabass = await answering(({ path }) =>
    path.endsWith('/provider-0')
      ? { status: 200, hang: true }
      : { status: 200, body: { data: { url: stage.cloud.urls.keystone, attributes } } },
  )
  const hanging = () => contrabass.asked.filter(({ path }) => path.endsWith('/provider-0')).length
  const slow = { pollFastInterval: '1h', pollSlowInterval: '1h' }
  const settings = { ...slow, contrabassEndpoint: contrabass.url, contrabassTimeout: '10m' }
  const create = async (n: number) => {
    const server = workerWithPort(`worker-${n}`)
    const { projectID, k8sProviderID } = { projectID: stage.world.project.id, k8sProviderID: 'biz-1' }
    const credentials = { openstackProviderID: `provider-${n % 10}`, projectID, k8sProviderID }
    await stage.create({ name: `config-${n}`, vmNames: [server.id], credentials, settings })
  }
  await stage.startOperator({ OPERATOR_WORKERS: '10' })
  for (let n = 0; n < 100; n += 10) await create(n)
  await eventually(() => assert.equal(hanging(), 1))
  for (let n = 0; n < 100; n++) if (n % 10 > 0) await create(n)
  await eventually(async () => assert.equal((await stage.nodes()).length, 90), { within: 180_000, every: 200 })
  assert.equal(hanging(), 1)
})

test('200 syncs leak no descriptor', async () => {
  const worker = workerWithPort('worker-1')
  await stage.startOperator()
  const every = '1ms'
  await stage.create({ settings: { pollFastInterval: every, pollSlowInterval: every, pollErrorInterval: every } })
  const open = async () => (await readdir('/proc/self/fd')).length
  const after = (count: number) =>
    eventually(async () => assert.ok((await syncs()) >= count), { within: 60_000, every: 100 })
  await after(20)
  const before = await open()
  await after(120)
  // Connections that break and logins that are made anew count too.
  stage.cloud.revokeTokens()
  stage.world.faults.failing = ['neutron']
  await after((await syncs()) + 4)
  stage.world.faults.failing = []
  setPortStatus(stage.world, addPort(stage.world, { server: worker, subnet: storage }).id, 'ACTIVE')
  await after(220)
  const left = await eventually(async () => {
    const now = await open()
    assert.ok(now <= before + 5, `${before} descriptors became ${now}`)
    return now
  })
  assert.ok(left > 0)
})

test('after a long outage an edit or the annotation starts the intervals anew', async () => {
  workerWithPort('worker-1')
  await stage.startOperator()
  await stage.create({ subnetIDs: ['nowhere'], settings: { pollErrorInterval: '100ms' } })
  // The fourth failure in a row waits for 640 ms at least, the first for 120 ms at most.
  const grown = () => eventually(() => assert.ok((waits.at(-1) ?? 0) >= 640))
  const startsAnew = async (patch: object) => {
    const before = waits.length
    await stage.kube.patch(openstackConfigs, { namespace, name: 'main' }, patch)
    await eventually(() => assert.ok(waits.slice(before).some(ms => ms <= 120)))
  }
  await grown()
  await startsAnew({ metadata: { annotations: { [openstackConfigAnnotations.forceReconcile]: '1' } } })
  await grown()
  await startsAnew({ spec: { deletionPolicy: 'Retain' } })
})
