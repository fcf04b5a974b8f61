/** The guards before anything else: the right machine, and a host that is mounted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notMounted, wrongMachine } from './preflight.ts'

const uuid = '6f1c2a10-0001-4aaa-8bbb-000000000001'
const request = { instanceId: uuid, bootID: 'boot-1' }

type Machine = Parameters<typeof wrongMachine>[1]
const cases: Record<
  string,
  [machine: Machine, message: string | undefined, expected?: Parameters<typeof wrongMachine>[0]]
> = {
  'the machine of the request': [{ systemUUID: uuid, bootID: 'boot-1' }, undefined],
  'the same machine after a reboot': [{ systemUUID: uuid, bootID: 'boot-2' }, undefined],
  'the same machine in other letters': [{ systemUUID: uuid.toUpperCase(), bootID: 'boot-1' }, undefined],
  'another machine, although the boot ID is the same': [
    { systemUUID: 'AAAAAAAA-0001-4aaa-8bbb-000000000009', bootID: 'boot-1' },
    `SystemUUID of this machine is aaaaaaaa-0001-4aaa-8bbb-000000000009, expected ${uuid}`,
    { ...request, instanceId: uuid.toUpperCase() },
  ],
  'any machine, for a request that names none': [
    { systemUUID: 'another', bootID: 'boot-9' },
    undefined,
    { instanceId: '', bootID: 'boot-1' },
  ],
  'a machine without DMI in the expected boot': [{ systemUUID: '', bootID: 'boot-1' }, undefined],
  'a machine without DMI in another boot': [
    { systemUUID: '', bootID: 'boot-2' },
    'this machine has no SystemUUID, and its boot ID is boot-2, expected boot-1',
  ],
  'a machine without DMI, for a request without a boot ID': [
    { systemUUID: '', bootID: 'boot-1' },
    `cannot read SystemUUID of this machine, expected ${uuid}`,
    { instanceId: uuid.toUpperCase() },
  ],
}

for (const [name, [machine, message, expected = request]] of Object.entries(cases))
  test(`${name} is ${message === undefined ? 'accepted' : 'refused'}`, () =>
    assert.deepEqual(
      wrongMachine(expected, machine),
      message === undefined ? undefined : { reason: 'WrongMachine', message },
    ))

test('a host path that is not mounted is refused by name', () => {
  assert.equal(notMounted([]), undefined)
  assert.deepEqual(notMounted(['/etc/netplan', '/var/lib/multinic']), {
    reason: 'HostPathNotMounted',
    message: 'not mounted from the host: /etc/netplan, /var/lib/multinic',
  })
})
