import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kernelHost } from '../host/host.ts'
import { hostPaths } from '../paths.ts'
import { busWith, reply } from '../test/dbus.fixture.ts'
import { connectNetworkManager } from './network-manager.ts'

/** NetworkManager is running, and replies to the first question about a device with this error. */
const managerOf = async (errorName: string) => {
  const { stream } = busWith([reply(2, 1, ':1.5'), reply(2, 2, true), reply(3, 3, 'message', errorName)])
  const manager = await connectNetworkManager({ ...kernelHost(), connect: async () => stream }, hostPaths)
  assert.ok(manager)
  try {
    return await manager.managerOf('ens4', 'fa:16:3e:00:00:01')
  } finally {
    manager.close()
  }
}

test('a device that NetworkManager does not know is not managed', async () => {
  assert.equal(await managerOf('org.freedesktop.NetworkManager.UnknownDevice'), 'none')
})

test('any other error of NetworkManager tells nothing about who manages the device', async () => {
  await assert.rejects(managerOf('org.freedesktop.DBus.Error.NoReply'))
  await assert.rejects(managerOf('org.freedesktop.DBus.Error.AccessDenied'))
})
