/** Whatever Viola answers or does not answer, over real HTTP: told with its reason, nothing lost, and it goes on after. */
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
} from '../../sandbox/cloud/state.ts'
import type { Answered } from '../../test/openstack/stub-server.ts'
import { type Stage, startStage } from '../../test/operator/environment.ts'
import { startTellingViola, type TellingViola } from '../../test/operator/viola-stubs.ts'
import { eventually } from '../../test/support/eventually.ts'

let stage: Stage
let viola: TellingViola
let storage: Subnet
let worker: Server
let delivered: string[]

const within = 30_000

before(async () => {
  stage = await startStage()
  viola = await startTellingViola()
  storage = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(stage.world, 'worker-1')
  delivered = [`worker-1 ${attach()}`]
  await stage.startOperator()
  await stage.create({ settings: { violaEndpoint: viola.url, violaTimeout: '500ms' } })
  await holds(delivered)
})
after(async () => {
  await stage?.close()
  await viola?.[Symbol.asyncDispose]()
})

function attach(): string {
  const { id } = addPort(stage.world, { server: worker, subnet: storage })
  setPortStatus(stage.world, id, 'ACTIVE')
  return id
}

async function holds(expected: string[]): Promise<void> {
  await eventually(() => assert.deepEqual(viola.told(), expected), { within })
}

async function becomes(expected: RegExp): Promise<void> {
  await eventually(
    async () => {
      const { conditions, lastError = '' } = (await stage.config()).status ?? {}
      const of = (type: string) => conditions?.find(one => one.type === type)
      assert.match(`${of('Ready')?.status} ${of('Ready')?.reason}: ${of('Ready')?.message}`, expected)
      assert.equal(of('Degraded')?.status, of('Ready')?.status === 'True' ? 'False' : 'True')
      assert.equal(lastError !== '', of('Ready')?.status !== 'True')
    },
    { within },
  )
}

const problem = (status: number, detail: string): Answered => ({ status, body: { title: 'no', status, detail } })
const answers: Record<string, [answer: Answered, said: RegExp]> = {
  'refuses the content': [problem(400, '[0].interfaces[0].mtu: too small'), /HTTP 400 \[0\]\.interfaces\[0\]\.mtu/],
  'knows no such caller': [problem(401, 'a token is needed'), /HTTP 401 a token is needed/],
  'lets this caller do nothing': [problem(403, 'not for this provider'), /HTTP 403 not for this provider/],
  'knows no such provider': [problem(404, 'no cluster is known'), /HTTP 404 no cluster is known/],
  'sees a name twice': [problem(409, 'two nodes would be one object'), /HTTP 409 two nodes would be one object/],
  'finds it too long': [problem(413, 'the body is too large'), /HTTP 413 the body is too large/],
  'is broken': [problem(500, 'internal error'), /HTTP 500 internal error/],
  'cannot reach the cluster': [problem(502, 'connection refused'), /HTTP 502 connection refused/],
  'is not ready': [problem(503, 'starting'), /HTTP 503 starting/],
  'is broken in words of a proxy': [{ status: 500, body: '<html>no</html>' }, /HTTP 500$/],
  'never answers': [{ status: 200, hang: true }, /no answer within 0\.5 s/],
  'cuts the connection': [{ status: 200, cut: true }, /UND_ERR_SOCKET|ECONNRESET/],
  'cuts the body': [{ status: 200, body: { applied: 1 }, cut: 'body' }, /UND_ERR_SOCKET|ECONNRESET|UND_ERR_ABORTED/],
}

for (const method of ['POST', 'GET'])
  for (const [name, [answer, said]] of Object.entries(answers))
    test(`${method}: Viola ${name}`, async () => {
      viola.fault = asked => (asked.method === method ? answer : undefined)
      const port = attach()
      await becomes(new RegExp(`^False ViolaPostError: .*${said.source}`))
      assert.deepEqual(viola.told(), delivered)
      viola.fault = () => undefined
      await holds([`${delivered} ${port}`])
      removePort(stage.world, port)
      await holds(delivered)
      await becomes(/^True /)
    })

test('GET: an answer that nobody can read is no empty cluster', async () => {
  viola.fault = asked => (asked.method === 'GET' ? { status: 200, body: { items: 'none' } } : undefined)
  await becomes(/^False ViolaPostError: viola: the list of node configs is not usable$/)
  assert.deepEqual(viola.told(), delivered)
  viola.fault = () => undefined
  await becomes(/^True /)
})

test('POST: a 200 in any words counts as taken, and what was not stored is sent again', async () => {
  viola.fault = asked => (asked.method === 'POST' ? { status: 200, body: 'configmap/node-configs created' } : undefined)
  const port = attach()
  const posts = () => viola.asked.filter(({ method }) => method === 'POST').length
  const before = posts()
  await eventually(() => assert.ok(posts() >= before + 2), { within })
  assert.deepEqual(viola.told(), delivered)
  viola.fault = () => undefined
  await holds([`${delivered} ${port}`])
  removePort(stage.world, port)
  await holds(delivered)
})

test('POST: a node that failed is told with Viola’s own words for it', async () => {
  const results = [{ nodeName: 'worker-1', action: 'failed', message: 'quota exceeded' }]
  viola.fault = asked =>
    asked.method === 'POST' ? { status: 502, body: { applied: 0, output: '', results } } : undefined
  attach()
  await becomes(/^False ViolaPostError: worker-1: quota exceeded$/)
  viola.fault = () => undefined
  await becomes(/^True /)
})

test('DELETE: a removal that is refused waits, is told, and is done when Viola lets it', async () => {
  viola.fault = asked => (asked.method === 'DELETE' ? problem(403, 'not today') : undefined)
  const [before] = viola.told()
  for (const port of [...stage.world.ports.keys()]) removePort(stage.world, port)
  await eventually(
    async () => {
      const pending = (await stage.config()).status?.conditions?.find(one => one.type === 'RemovalPending')
      assert.equal(pending?.status, 'True')
      assert.match(pending?.message ?? '', /worker-1: .*HTTP 403 not today/)
    },
    { within },
  )
  assert.deepEqual(viola.told(), [before])
  viola.fault = () => undefined
  await holds([])
})

test('POST: where another was quicker the node is looked at again, and nothing of the other one is lost', async () => {
  type Sent = { nodeName: string; expectedSpecHash: string; interfaces: { id: number; portId: string }[] }
  const sent = () => viola.asked.filter(({ method }) => method === 'POST').map(({ body }): Sent => JSON.parse(body)[0])
  const own = attach()
  await holds([`worker-1 ${own}`])
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
  await holds([`worker-1 ${own} theirs ${port}`])
  const [first, second] = sent().slice(before)
  assert.deepEqual([first?.expectedSpecHash, second?.expectedSpecHash], ['h', 'newer'])
  assert.equal(second?.interfaces.find(({ portId }) => portId === port)?.id, 2)
  viola.fault = () => undefined
  await becomes(/^True /)
})
