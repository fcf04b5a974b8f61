/** Errors of Viola, over real HTTP: the status shows the reason, nothing is lost, and the operator recovers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  removePort,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../../sandbox/cloud/state.ts'
import type { StubResponse } from '../../../test/openstack/stub-server.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { startViolaStub, type ViolaStub } from '../../../test/operator/viola-stubs.ts'
import { eventually } from '../../../test/support/eventually.ts'

let environment: OperatorEnvironment
let viola: ViolaStub
let storage: Subnet
let worker: Server
let delivered: string[]

const within = 30_000

before(async () => {
  environment = await startOperatorEnvironment()
  viola = await startViolaStub()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(environment.cloudState, 'worker-1')
  delivered = [`worker-1 ${attach()}`]
  await environment.startOperator()
  await environment.create({ settings: { violaEndpoint: viola.url, violaTimeout: '500ms' } })
  await waitForDelivered(delivered)
})
after(async () => {
  await environment?.close()
  await viola?.[Symbol.asyncDispose]()
})

function attach(): string {
  const { id } = addPort(environment.cloudState, { server: worker, subnet: storage })
  setPortStatus(environment.cloudState, id, 'ACTIVE')
  return id
}

async function waitForDelivered(expected: string[]): Promise<void> {
  await eventually(() => assert.deepEqual(viola.delivered(), expected), { within })
}

async function waitForReady(expected: RegExp): Promise<void> {
  await eventually(
    async () => {
      const { conditions, lastError = '' } = (await environment.config()).status ?? {}
      const of = (type: string) => conditions?.find(one => one.type === type)
      assert.match(`${of('Ready')?.status} ${of('Ready')?.reason}: ${of('Ready')?.message}`, expected)
      assert.equal(of('Degraded')?.status, of('Ready')?.status === 'True' ? 'False' : 'True')
      assert.equal(lastError !== '', of('Ready')?.status !== 'True')
    },
    { within },
  )
}

const problem = (status: number, detail: string): StubResponse => ({ status, body: { title: 'no', status, detail } })
const answers: Record<string, [answer: StubResponse, expected: RegExp]> = {
  'refuses the content': [problem(400, '[0].interfaces[0].mtu: too small'), /HTTP 400 \[0\]\.interfaces\[0\]\.mtu/],
  'does not know the caller': [problem(401, 'a token is needed'), /HTTP 401 a token is needed/],
  'forbids the request': [problem(403, 'not for this provider'), /HTTP 403 not for this provider/],
  'does not know the provider': [problem(404, 'no cluster is known'), /HTTP 404 no cluster is known/],
  'refuses a duplicate name': [problem(409, 'two nodes would be one object'), /HTTP 409 two nodes would be one object/],
  'refuses a large body': [problem(413, 'the body is too large'), /HTTP 413 the body is too large/],
  'has an internal error': [problem(500, 'internal error'), /HTTP 500 internal error/],
  'cannot reach the cluster': [problem(502, 'connection refused'), /HTTP 502 connection refused/],
  'is not ready': [problem(503, 'starting'), /HTTP 503 starting/],
  'is behind a proxy with an error': [{ status: 500, body: '<html>no</html>' }, /HTTP 500$/],
  'never answers': [{ status: 200, hang: true }, /no answer within 0\.5 s/],
  'closes the connection': [{ status: 200, cut: true }, /UND_ERR_SOCKET|ECONNRESET/],
  'closes the connection in the body': [
    { status: 200, body: { applied: 1 }, cut: 'body' },
    /UND_ERR_SOCKET|ECONNRESET|UND_ERR_ABORTED/,
  ],
}

const reasonOf = { POST: 'ViolaPostError', GET: 'ViolaError' } as const
for (const method of ['POST', 'GET'] as const)
  for (const [name, [answer, expected]] of Object.entries(answers))
    test(`${method}: Viola ${name}`, async () => {
      viola.fault = request => (request.method === method ? answer : undefined)
      const port = attach()
      await waitForReady(new RegExp(`^False ${reasonOf[method]}: .*${expected.source}`))
      assert.deepEqual(viola.delivered(), delivered)
      viola.fault = () => undefined
      await waitForDelivered([`${delivered} ${port}`])
      removePort(environment.cloudState, port)
      await waitForDelivered(delivered)
      await waitForReady(/^True /)
    })

test('POST: what is requested is recorded beside what was delivered while the delivery fails', async () => {
  const requested = () => environment.records.at(-1)?.config.requested?.map(({ portId }) => portId)
  assert.equal(requested(), undefined)
  viola.fault = request => (request.method === 'POST' ? problem(503, 'starting') : undefined)
  const port = attach()
  await eventually(() => assert.ok(requested()?.includes(port)), { within })
  assert.equal(environment.records.at(-1)?.config.interfaces.length, 1)
  viola.fault = () => undefined
  await waitForDelivered([`${delivered} ${port}`])
  await eventually(() => assert.equal(requested(), undefined), { within })
  removePort(environment.cloudState, port)
  await waitForDelivered(delivered)
  await waitForReady(/^True /)
})

test('GET: an unreadable answer is not an empty cluster', async () => {
  viola.fault = request => (request.method === 'GET' ? { status: 200, body: { items: 'none' } } : undefined)
  await waitForReady(/^False ViolaError: viola: the list of node configs has an unexpected format$/)
  assert.deepEqual(viola.delivered(), delivered)
  viola.fault = () => undefined
  await waitForReady(/^True /)
})

test('GET: a node config that cannot be read is named, and is no empty node', async () => {
  const broken = { nodeName: 'worker-9', specHash: 'h', generation: 1, interfaces: [{ macAddress: 'x', mtu: 20 }] }
  viola.fault = request =>
    request.method === 'GET' ? { status: 200, body: { items: [broken], resourceVersion: '1' } } : undefined
  await waitForReady(/^False ViolaError: viola: the list .* unexpected format: node worker-9: interfaces\[0\]\./)
  assert.deepEqual(viola.delivered(), delivered)
  viola.fault = () => undefined
  await waitForReady(/^True /)
})

test('POST: any body with status 200 is accepted, and what was not stored is sent again', async () => {
  viola.fault = request =>
    request.method === 'POST' ? { status: 200, body: 'configmap/node-configs created' } : undefined
  const port = attach()
  const posts = () => viola.requests.filter(({ method }) => method === 'POST').length
  const before = posts()
  await eventually(() => assert.ok(posts() >= before + 2), { within })
  assert.deepEqual(viola.delivered(), delivered)
  viola.fault = () => undefined
  await waitForDelivered([`${delivered} ${port}`])
  removePort(environment.cloudState, port)
  await waitForDelivered(delivered)
})

test('POST: the status shows the message of a node that failed', async () => {
  const results = [{ nodeName: 'worker-1', action: 'failed', message: 'quota exceeded' }]
  viola.fault = request =>
    request.method === 'POST' ? { status: 502, body: { applied: 0, output: '', results } } : undefined
  attach()
  await waitForReady(/^False ViolaPostError: worker-1: quota exceeded$/)
  viola.fault = () => undefined
  await waitForReady(/^True /)
})

test('DELETE: a refused removal is reported and retried until Viola accepts it', async () => {
  viola.fault = request => (request.method === 'DELETE' ? problem(403, 'not today') : undefined)
  const [before] = viola.delivered()
  for (const port of [...environment.cloudState.ports.keys()]) removePort(environment.cloudState, port)
  await eventually(
    async () => {
      const pending = (await environment.config()).status?.conditions?.find(one => one.type === 'RemovalPending')
      assert.equal(pending?.status, 'True')
      assert.match(pending?.message ?? '', /worker-1: .*HTTP 403 not today/)
    },
    { within },
  )
  assert.deepEqual(viola.delivered(), [before])
  viola.fault = () => undefined
  await waitForDelivered([])
})

test('POST: after a conflict the node is planned again, and interfaces of another object stay', async () => {
  type Sent = { nodeName: string; expectedSpecHash: string; interfaces: { id: number; portId: string }[] }
  const sent = () =>
    viola.requests.filter(({ method }) => method === 'POST').map(({ body }): Sent => JSON.parse(body)[0])
  const own = attach()
  await waitForDelivered([`worker-1 ${own}`])
  const ours = sent().at(-1)?.interfaces ?? []
  const theirs = { id: 1, macAddress: 'fa:16:3e:00:00:99', portId: 'theirs', source: 'another/object' }
  const before = sent().length
  viola.fault = ({ method }) => {
    const conflict = { nodeName: 'worker-1', action: 'conflict', message: 'the cluster holds another config' }
    const posts = sent().length - before
    if (method === 'POST')
      return posts === 1 ? { status: 409, body: { applied: 0, output: '', results: [conflict] } } : undefined
    if (posts !== 1) return undefined
    const node = { nodeName: 'worker-1', interfaces: [...ours, theirs], specHash: 'newer', generation: 2 }
    return { status: 200, body: { items: [node], resourceVersion: 'newer' } }
  }
  const port = attach()
  await waitForDelivered([`worker-1 ${own} theirs ${port}`])
  const [first, second] = sent().slice(before)
  assert.deepEqual([first?.expectedSpecHash, second?.expectedSpecHash], ['h', 'newer'])
  assert.equal(second?.interfaces.find(({ portId }) => portId === port)?.id, 2)
  viola.fault = () => undefined
  await waitForReady(/^True /)
})
