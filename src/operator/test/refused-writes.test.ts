/** The operator loses rights in a run: it says so, nothing is lost, and it goes on when it has them again. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { secrets } from '../../kube/resources.ts'
import { createLog } from '../../telemetry/log.ts'

let environment: OperatorEnvironment
let lines: string[]
let storage: Subnet
let worker: Server

beforeEach(async () => {
  lines = []
  environment = await startOperatorEnvironment(createLog({}, { write: line => void lines.push(line) }))
  const { cloudState } = environment
  cloudState.bus = { urls: ['amqp://127.0.0.1:9'], user: 'openstack', password: 'bus-password' }
  storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(cloudState, 'worker-1')
  attach()
})
afterEach(() => environment.close())

function attach(): void {
  setPortStatus(
    environment.cloudState,
    addPort(environment.cloudState, { server: worker, subnet: storage }).id,
    'ACTIVE',
  )
}

const start = () => environment.startOperator({ RABBITMQ_EVENTS_ENABLED: 'false' })

const readOnly = (...plurals: string[]) => {
  environment.api.faults.readOnly = plurals
}

async function readiness(): Promise<{ code: number; body: string }> {
  const answer = await fetch(`${environment.operatorUrl()}/readyz`)
  return { code: answer.status, body: await answer.text() }
}

async function waitForReadiness(code: number, body: RegExp): Promise<void> {
  await eventually(async () => {
    const answer = await readiness()
    assert.equal(answer.code, code)
    assert.match(answer.body, body)
  })
}

async function synced(name = 'main'): Promise<void> {
  await eventually(async () => {
    const { status } = await environment.config(name)
    assert.deepEqual([status?.nodes?.total, status?.lastError], [1, undefined])
  })
}

const interfaces = async () => (await environment.deliveredTexts()).join().split(' ').slice(1)

test('an operator that may not write OpenstackConfigs is not ready, goes on with the NICs of known ones, and recovers', async () => {
  await environment.create({})
  await start()
  await synced()
  await waitForReadiness(200, /./)
  readOnly('openstackconfigs')
  attach()
  await eventually(async () => assert.deepEqual(await interfaces(), ['multinic0=10.10.0.10', 'multinic1=10.10.0.11']))
  await waitForReadiness(503, /writes are refused: /)
  assert.ok(lines.some(line => line.includes('reconcile failed, retrying')))
  readOnly()
  await waitForReadiness(200, /./)
  await eventually(async () => assert.equal((await environment.config()).status?.ports?.selected, 2))
  await eventually(() => {
    const recorded = environment.records.flatMap(one => JSON.stringify(one))
    assert.ok(recorded.some(text => text.includes('10.10.0.11')))
  })
})

test('an object that is new while its status cannot be written gets no NIC: its deletion would not find it', async () => {
  await environment.create({})
  readOnly('status')
  await start()
  await waitForReadiness(503, /writes are refused: /)
  await eventually(() => assert.ok(lines.filter(line => line.includes('reconcile failed, retrying')).length >= 3))
  assert.deepEqual(await environment.nodes(), [])
  readOnly()
  await synced()
  await waitForReadiness(200, /./)
  assert.deepEqual(await interfaces(), ['multinic0=10.10.0.10'])
})

test('without the right to write Secrets, that of the bus waits, and nothing else does', async () => {
  readOnly('secrets')
  await environment.create({})
  await start()
  await synced()
  await eventually(() => assert.ok(lines.some(line => line.includes('cannot write the Secret of the message bus'))))
  await waitForReadiness(200, /./)
  readOnly()
  await eventually(async () => assert.ok(await environment.kube.get(secrets, { namespace, name: 'rabbitmq-main' })))
})
