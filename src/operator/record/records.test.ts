import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryWrite } from '../../contract/inventory.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'
import { ServiceError } from '../../http-client/errors.ts'
import { nextTurn } from '../../runtime/event-loop.ts'
import { silent } from '../../telemetry/log.ts'
import { aNic, aNode, aPort, me, observed, one, storage, vm1 } from '../plan/plan.fixture.ts'
import { type NodePlan, planNodes } from '../plan/plan.ts'
import type { Verdict } from '../plan/verdicts.ts'
import { createRecords, type Recorder } from './records.ts'
import type { ObjectVerdicts } from './verdict-changes.ts'

function aRecorder() {
  const writes: InventoryWrite[] = []
  const put = async (some: InventoryWrite[]) => {
    writes.push(...some)
    return true
  }
  return { writes, records: createRecords({ put }, () => new Date('2026-01-01T00:00:00Z')) }
}

function planWith(subnetName: string, serverName: string, delivered = one): NodePlan {
  const subnets = [{ ...storage, name: subnetName }]
  const cloud = { subnets, ports: [aPort(1)], vms: [{ ...vm1, serverName }], delivered: [delivered] }
  return planNodes(observed(cloud)).nodes[0] ?? assert.fail('no plan')
}

const namesIn = ({ instanceName, config }: InventoryWrite) => [
  instanceName,
  ...config.interfaces.map(({ subnetName }) => subnetName),
]

test('experience M10: the inventory gets current names of nodes that are not delivered again', async () => {
  const { writes, records } = aRecorder()
  const sync = async (plan: NodePlan) => {
    assert.equal(plan.action, 'keep')
    records.noteNames('biz', plan, me)
    records.note('biz', one, 'the node is Pending')
    await records.flush(silent)
  }
  const plan = planWith('storage', 'web')
  await sync(plan)
  await sync(plan)
  assert.deepEqual(writes.map(namesIn), [['web', 'storage']])
  await sync(planWith('storage', 'web'))
  assert.equal(writes.length, 1)
  await sync(planWith('renamed', 'database'))
  assert.deepEqual(writes.slice(1).map(namesIn), [['database', 'renamed']])
})

test('what is noted again is sent again only if it changed', async () => {
  const { writes, records } = aRecorder()
  const delivered = [one, { ...one, nodeName: 'worker-2' }]
  const plan = planNodes(observed({ delivered, ports: [aPort(1)] }))
  /** Equal values, and no object of the calls before. */
  const noteAll = () => {
    for (const node of structuredClone(plan.nodes)) records.noteNames('biz', node, me)
    for (const node of structuredClone(delivered)) records.note('biz', node, 'the node is Pending')
  }
  const sentBy = async (note: () => void) => {
    const before = writes.length
    note()
    await records.flush(silent)
    return writes.slice(before).map(({ nodeName }) => nodeName)
  }
  assert.deepEqual(await sentBy(noteAll), ['worker-1', 'worker-2'])
  assert.deepEqual(await sentBy(noteAll), [])

  const other = { ...one, nodeName: 'worker-3' }
  const both = ['worker-1', 'worker-2']
  const changes: Record<string, [change: () => void, sent: string[], sentAfterwards: string[]]> = {
    'another node': [() => records.note('biz', other, 'the node is Pending'), ['worker-3'], []],
    'a node that another object is alone on': [
      () => records.note('biz', one, 'as before', { isOnlyNode: true }),
      ['worker-1'],
      ['worker-1'],
    ],
    'what a node should have': [
      () => records.note('biz', one, 'not delivered', { requested: [aNic(2, 1)] }),
      ['worker-1'],
      ['worker-1'],
    ],
    'a port that is not of these nodes': [() => records.noteSeen('biz', 'another port'), [], []],
    'a removal': [() => records.noteRemoving('biz', one, 'gone'), ['worker-1'], ['worker-1']],
    'a removed node': [() => records.noteGone('biz', one, 'gone'), ['worker-1'], ['worker-1']],
    'another replica': [() => records.restart(), [], both],
  }
  for (const [name, [change, sent, sentAfterwards]] of Object.entries(changes)) {
    assert.deepEqual(await sentBy(change), sent, name)
    assert.deepEqual(await sentBy(noteAll), sentAfterwards, `${name}, and then noted again`)
    assert.deepEqual(await sentBy(noteAll), [], `${name}, and noted once more`)
  }
})

test('a record has the name of the provider, also while the node is removed', async () => {
  const { writes, records } = aRecorder()
  const node = { ...one, providerName: 'Seoul 1' }
  records.note('biz', node, 'the node is Pending')
  await records.flush(silent)
  records.note('biz', { ...node, providerName: 'Seoul 2' }, 'the node is Pending')
  await records.flush(silent)
  records.noteRemoving('biz', { ...node, providerName: 'Seoul 2' }, 'gone')
  await records.flush(silent)
  assert.deepEqual(
    writes.map(({ providerName, reason }) => [providerName, reason === 'Removing']),
    [
      ['Seoul 1', false],
      ['Seoul 2', false],
      ['Seoul 2', true],
    ],
  )
})

for (const outcome of ['succeeds', 'fails'] as const)
  test(`a newer record of a node waits for the older one, which ${outcome}`, async () => {
    const states: string[] = []
    const first = Promise.withResolvers<boolean>()
    const put = async ([write]: InventoryWrite[]) => {
      const isFirst = states.push(write?.providerName ?? '') === 1
      return isFirst ? first.promise : true
    }
    const records = createRecords({ put }, () => new Date('2026-01-01T00:00:00Z'))
    records.note('biz', { ...one, providerName: 'older' }, 'the node is Pending')
    const older = records.flush(silent)
    const newest = { ...one, providerName: 'newer' }
    records.note('biz', newest, 'the node is Pending')
    const newer = records.flush(silent)
    // A flush takes a few turns of the event loop.
    for (let turns = 0; turns < 10; turns++) await nextTurn()
    assert.deepEqual(states, ['older'])
    if (outcome === 'succeeds') first.resolve(true)
    else first.reject(new Error('inventory database unavailable'))
    assert.deepEqual(await Promise.all([older, newer]), [outcome === 'succeeds', true])
    // The flush of another object.
    await records.flush(silent)
    records.note('biz', newest, 'the node is Pending')
    await records.flush(silent)
    assert.deepEqual(states, ['older', 'newer'])
  })

test('records of other nodes do not wait', async () => {
  const names: string[] = []
  const first = Promise.withResolvers<boolean>()
  const put = async ([write]: InventoryWrite[]) => (names.push(write?.nodeName ?? '') === 1 ? first.promise : true)
  const records = createRecords({ put }, () => new Date('2026-01-01T00:00:00Z'))
  records.note('biz', one, 'the node is Pending')
  const slow = records.flush(silent)
  records.note('biz', { ...one, nodeName: 'w2' }, 'the node is Pending')
  assert.equal(await records.flush(silent), true)
  assert.deepEqual(names, [one.nodeName, 'w2'])
  first.resolve(true)
  assert.equal(await slow, true)
})

test('two objects with interfaces on one node do not overwrite the names of each other', async () => {
  const { writes, records } = aRecorder()
  const shared = aNode([aNic(1, 0), aNic(2, 1, { source: 'ns/other', subnetName: 'delivered' })])
  const planned = (index: number, subnetName: string): NodePlan => ({
    ...planWith('x', 'web', shared),
    interfaces: shared.interfaces.map((nic, at) => (at === index ? { ...nic, subnetName } : nic)),
  })
  const [mine, others] = [planned(0, 'mine'), planned(1, 'theirs')]
  for (const [plan, source] of [
    [mine, me],
    [others, 'ns/other'],
    [{ ...mine }, me],
    [{ ...others }, 'ns/other'],
  ] as const) {
    records.noteNames('biz', plan, source)
    records.note('biz', shared, 'the node is Pending')
    await records.flush(silent)
  }
  assert.deepEqual(writes.map(namesIn), [
    ['web', 'mine', 'delivered'],
    ['web', 'mine', 'theirs'],
  ])
})

const ignored = (vm: string, message = 'm'): Verdict => ({
  vm,
  portId: `port-${vm}`,
  reason: 'PortStatusNotAllowed',
  message,
})
const mine = (...verdicts: Verdict[]): ObjectVerdicts => ({ config: me, providerId: 'biz', verdicts })

/** A recorder that answers as told, and the VMs of the verdicts of each request. */
const forbidden = new ServiceError('forbidden', { service: 'inventory', kind: 'answer', status: 403 })

function withAnswers(...answers: ('stores' | 'forbids' | 'fails')[]) {
  const puts: { nodes: string[]; ranges: string[] }[] = []
  const put: Recorder['put'] = async (records, verdicts) => {
    const rangeOf = ({ after = '', upTo = '', removed, verdicts }: VerdictWrite) =>
      removed ? 'removed' : `(${after},${upTo}] ${verdicts.map(({ vm }) => vm).join(' ')}`
    puts.push({ nodes: records.map(({ nodeName }) => nodeName), ranges: verdicts.map(rangeOf) })
    const answer = answers.shift()
    if (answer === 'fails') throw new Error('the inventory is down')
    if (answer === 'forbids') throw forbidden
  }
  let time = Date.UTC(2026, 0, 1)
  const records = createRecords({ put }, () => new Date(time))
  const wait = (ms: number) => {
    time += ms
  }
  return { puts, records, wait }
}

test('verdicts are sent with the record of their VM, and then only those that differ', async () => {
  const { puts, records } = withAnswers()
  records.note('biz', one, 'the node is Pending')
  const object = mine(ignored(vm1.id ?? ''), ignored('vm-9'))
  assert.equal(await records.flush(silent, object), true)
  assert.deepEqual(puts, [{ nodes: [one.nodeName], ranges: [`(,] ${vm1.id} vm-9`] }])
  await records.flush(silent, object)
  await records.flush(silent, mine(ignored(vm1.id ?? ''), ignored('vm-9')))
  await records.flush(silent)
  assert.equal(puts.length, 1)
  await records.flush(silent, mine(ignored(vm1.id ?? ''), ignored('vm-9', 'new')))
  assert.deepEqual(puts[1], { nodes: [], ranges: [`(${vm1.id},vm-9] vm-9`] })
  records.restart()
  await records.flush(silent, mine(ignored('vm-9')))
  assert.deepEqual(puts[2]?.ranges, ['(,] vm-9'], 'another replica may have written')
})

test('verdicts that were found to be stored are not compared again', async () => {
  const { puts, records } = withAnswers()
  let reads = 0
  const counted = () => ({
    ...ignored('a'),
    get vm() {
      reads++
      return 'a'
    },
  })
  await records.flush(silent, mine(counted()))
  const equal = mine(counted())
  await records.flush(silent, equal)
  const before = reads
  await records.flush(silent, equal)
  assert.equal(reads, before)
  assert.equal(puts.length, 1)
})

test('verdicts that differ while none are sent are sent later', async () => {
  const { puts, records, wait } = withAnswers('stores', 'forbids')
  const other = { ...mine(ignored('b')), config: 'ns/other' }
  await records.flush(silent, mine(ignored('a')))
  await records.flush(silent, other)
  const changed = mine(ignored('a', 'new'))
  await records.flush(silent, changed)
  assert.equal(puts.length, 2)
  wait(61_000)
  await records.flush(silent, changed)
  assert.deepEqual(puts[2]?.ranges, ['(,a] a'])
})

test('after a failure all verdicts are sent again, because some may be stored', async () => {
  const { puts, records } = withAnswers('stores', 'fails')
  await records.flush(silent, mine(ignored('a'), ignored('b')))
  assert.equal(await records.flush(silent, mine(ignored('a'), ignored('b', 'new'))), false)
  await records.flush(silent, mine(ignored('a'), ignored('b')))
  assert.deepEqual(puts[2]?.ranges, ['(,] a b'])
})

test('verdicts that the operator may not write are sent once a minute until it may', async () => {
  const { puts, records, wait } = withAnswers('forbids')
  const object = mine(ignored('a'))
  await records.flush(silent, object)
  await records.flush(silent, object)
  assert.equal(puts.length, 1)
  wait(61_000)
  await records.flush(silent, object)
  await records.flush(silent, object)
  assert.deepEqual(puts[1]?.ranges, ['(,] a'])
  assert.equal(puts.length, 2)
})

test('the verdicts of a deleted object are deleted once', async () => {
  const { puts, records } = withAnswers('stores', 'fails')
  await records.flush(silent, mine(ignored('a')))
  const gone = { ...mine(), verdicts: undefined }
  assert.equal(await records.flush(silent, gone), false)
  assert.equal(await records.flush(silent, gone), true)
  assert.deepEqual(
    puts.map(({ ranges }) => ranges),
    [['(,] a'], ['removed'], ['removed']],
  )
})

test('a fleet is sent in bounded requests, each VM with its verdicts', async () => {
  const { puts, records } = withAnswers()
  const vms = Array.from({ length: 1_000 }, (_, n) => `vm-${n}`)
  for (const vm of vms) records.note('biz', { ...one, nodeName: `node-${vm}`, instanceId: vm }, 'new')
  await records.flush(silent, mine(...vms.flatMap(vm => [ignored(vm), { ...ignored(vm), portId: `second-${vm}` }])))
  assert.equal(puts.flatMap(({ nodes }) => nodes).length, 1_000)
  for (const { nodes, ranges } of puts) {
    assert.ok(nodes.length <= 200)
    const decided = ranges.join(' ').split(' ')
    for (const node of nodes) assert.ok(decided.includes(node.slice('node-'.length)), node)
  }
})

test('a clock that was ahead delays no verdicts after it is set back', async () => {
  let now = Date.parse('2026-01-02T00:00:00Z')
  const sent: number[] = []
  const put = async (_: InventoryWrite[], verdicts: VerdictWrite[]) => {
    if (verdicts.length > 0) sent.push(now)
    throw forbidden
  }
  const records = createRecords({ put }, () => new Date(now))
  const verdicts: Verdict[] = [{ vm: 'vm-1', portId: 'port-1', reason: 'NotSelected', message: '' }]
  const flush = () => records.flush(silent, { config: 'a/b', providerId: 'biz', verdicts })
  await flush()
  await flush()
  assert.equal(sent.length, 1)
  now -= 24 * 3_600_000
  await flush()
  assert.equal(sent.length, 2)
})
