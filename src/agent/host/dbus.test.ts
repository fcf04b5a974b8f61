import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busWith, reply } from '../test/dbus.fixture.ts'
import { BusError, openBus, typesIn } from './dbus.ts'

test('a signature is split into complete types', () => {
  assert.deepEqual(typesIn('sa{sv}u(ya(yv))as'), ['s', 'a{sv}', 'u', '(ya(yv))', 'as'])
})

const call = { destination: 'a.b', path: '/a/b', interface: 'a.b', member: 'Set' }

test('a call is encoded as specified, and its reply is decoded', async () => {
  const { stream, sent } = busWith([reply(2, 1, ':1.5'), reply(2, 2, 'done')])
  const bus = await openBus(stream)
  const result = await bus.call({ ...call, signature: 'ssv', body: ['x', 'Managed', ['b', false]] })
  assert.deepEqual(result, ['done'])
  const message = sent[1] ?? Buffer.alloc(0)
  assert.deepEqual([...message.subarray(0, 4)], [0x6c, 1, 2, 1])
  // s "x", s "Managed", v (b false): 4+1+1, padded to 8, 4+7+1, 1+1+1, padded to 24, 4.
  assert.equal(message.readUInt32LE(4), 28)
  assert.equal(
    message.subarray(-28).toString('hex'),
    '010000007800000007000000' + '4d616e6167656400' + '01620000' + '00000000',
  )
  bus.close()
})

test('an error reply rejects with its D-Bus name', async () => {
  const { stream } = busWith([reply(2, 1, ':1.5'), reply(3, 2, 'no such device', 'org.Unknown')])
  const bus = await openBus(stream)
  await assert.rejects(
    bus.call(call),
    (error: unknown) => error instanceof BusError && error.errorName === 'org.Unknown',
  )
  bus.close()
})

test('pending calls fail when the connection closes', async () => {
  const { stream } = busWith([reply(2, 1, ':1.5')])
  const bus = await openBus(stream)
  const waiting = bus.call(call)
  stream.destroy()
  await assert.rejects(waiting, /closed the connection/)
})

test('a signal that does not come fails only those who wait for it', async () => {
  const { stream } = busWith([reply(2, 1, ':1.5'), reply(2, 2, ''), reply(2, 3, '')])
  const bus = await openBus(stream)
  const changed = { sender: 'a.b', path: '/a', interface: 'a.b', member: 'Changed' }
  // An unhandled rejection ends the agent, and this test.
  await bus.expect(changed, 1, () => true)
  const { received } = await bus.expect(changed, 10, () => true)
  await assert.rejects(received, /no such signal within/)
  bus.close()
})
