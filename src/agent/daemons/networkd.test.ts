import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createLog } from '../../telemetry/log.ts'
import { kernelHost } from '../host/host.ts'
import { hostPaths } from '../paths.ts'
import { busWith, reply } from '../test/dbus.fixture.ts'
import { connectNetworkd } from './networkd.ts'

test('a bus that drops the replies of networkd, as a policy of SELinux does, is like a host without networkd', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { stream, sent } = busWith([reply(2, 1, ':1.5')])
  const lines: string[] = []
  const log = createLog({}, { write: line => lines.push(line) })
  const connected = connectNetworkd({ ...kernelHost(), connect: async () => stream }, hostPaths, log)
  while (sent.length < 2) await turn()
  t.mock.timers.tick(10_000)
  assert.equal(await connected, undefined)
  assert.match(lines.join(''), /networkd does not reply.*Describe: no reply within 10 s/)
})
