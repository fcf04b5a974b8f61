import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeOf } from './nodes.ts'
import { portMatches, portsOf } from './ports.ts'
import { aRecord } from './record.fixture.ts'

const config = 'multinic-system/main'
const node = nodeOf(
  aRecord('worker-1', {
    0: { address: '10.0.0.10', status: 'Configured' },
    1: { address: '10.0.0.11', status: 'Failed' },
  }),
  [],
)
const verdicts = [
  { config, vm: 'vm', portId: 'worker-1-0', reason: 'Selected', message: 'the port is multinic0' },
  { config, vm: 'vm', portId: 'worker-1-1', reason: 'Selected', message: 'the port is multinic1' },
  { config, vm: 'vm', portId: 'primary', reason: 'PrimaryPort', message: 'carries the node address' },
  { config, vm: 'vm', portId: 'old', reason: 'PortTooOld', message: 'too old' },
  { config, vm: 'vm-2', portId: 'waiting', reason: 'Selected', message: 'the port is multinic0' },
  { config, vm: 'gone', reason: 'VmNotFound', message: 'no such VM' },
]
const shown = (ports: ReturnType<typeof portsOf>) =>
  ports.map(({ portId, node, nic, state, verdict }) => [portId, node?.nodeName, nic?.name, state, verdict])

test('all ports are listed with verdict, node, NIC and state, worst first', () => {
  assert.deepEqual(shown(portsOf(verdicts, [node])), [
    ['worker-1-1', 'worker-1', 'multinic1', 'failed', 'Selected'],
    ['waiting', undefined, undefined, 'pending', 'Selected'],
    ['', undefined, undefined, 'ignored', 'VmNotFound'],
    ['old', 'worker-1', undefined, 'ignored', 'PortTooOld'],
    ['worker-1-0', 'worker-1', 'multinic0', 'configured', 'Selected'],
    ['primary', 'worker-1', undefined, 'unmanaged', 'PrimaryPort'],
  ])
})

test('a NIC is listed without a verdict, and once with the verdicts of several OpenstackConfigs', () => {
  assert.equal(portsOf([], [node]).length, 2)
  const refused = { config: 'other/one', vm: 'vm', portId: 'worker-1-0', reason: 'VmNotSelected', message: '' }
  const ports = portsOf([refused, ...verdicts, ...verdicts], [node])
  assert.equal(ports.length, 6)
  assert.equal(ports.find(({ portId }) => portId === 'worker-1-0')?.verdict, 'Selected')
})

test('a port is found by its VM, node, NIC, address, verdict or message', () => {
  const found = (text: string) =>
    portsOf(verdicts, [node])
      .filter(port => portMatches(port, text))
      .map(({ portId }) => portId)
  assert.deepEqual(found('10.0.0.11'), ['worker-1-1'])
  assert.deepEqual(found('MULTINIC0'), ['waiting', 'worker-1-0'])
  assert.deepEqual(found('tooold'), ['old'])
  assert.deepEqual(found('vmnot'), [''])
  assert.equal(found('worker-1').length, 4)
  assert.deepEqual(found('absent'), [])
})
