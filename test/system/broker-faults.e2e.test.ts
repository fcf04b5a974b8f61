/**
 * The tour and the faults of the broker, in one sandbox with a broker (the package of ../rigs/rabbitmq/rig.ts).
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { tourSteps } from '../../sandbox/commands/tour-steps.ts'
import { type ControlClient, connectControl } from '../../sandbox/control/client.ts'
import { stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { eventually } from '../support/eventually.ts'
import { commandRunner, inOneLine } from './run-command.ts'

let parent: string
let dir: string
let control: ControlClient
let sandbox: ReturnType<typeof commandRunner>

before(
  async () => {
    parent = await mkdtemp(join(tmpdir(), 'multinic-broker-'))
    dir = join(parent, 'sandbox')
    sandbox = commandRunner(dir)
    const { code, out } = await sandbox('up', '--rabbitmq', 'local')
    assert.equal(code, 0, out)
    control = connectControl(stateDir(dir))
  },
  { timeout: 300_000 },
)
after(async () => {
  await control?.close()
  await sandbox('down')
  await rm(parent, { recursive: true })
})

test('without a terminal the tour runs without pauses, and it keeps a sandbox that was running before', async () => {
  const { code, out } = await sandbox('tour')
  assert.equal(code, 0, out)
  for (const step of tourSteps) if ('say' in step) assert.ok(inOneLine(out).includes(inOneLine(step.say)), step.say)
  await eventually(async () => assert.equal((await control.status()).ready, true))
})

/** Polling finds what a lost notification would have reported, and a duplicate changes nothing. */
for (const name of ['lost-notifications', 'duplicated-notifications', 'reordered-notifications', 'lost-broker'])
  test(`${name}: a port still becomes a NIC`, { timeout: 120_000 }, async () => {
    await control.startFault({ name })
    const [port] = await control.attach({ vm: 'worker-1', subnet: 'storage' })
    await waitForStatus(port?.id, 'Configured')
    assert.deepEqual(await control.stopFault(name), [])
    await control.detach({ vm: 'worker-1', port: port?.id ?? '' })
    await waitForStatus(port?.id, undefined)
  })

test('restarted-broker: the broker runs when the command returns, and the operator reconnects', async () => {
  await control.startFault({ name: 'restarted-broker' })
  const [port] = await control.attach({ vm: 'worker-1', subnet: 'storage' })
  await waitForStatus(port?.id, 'Configured')
})

async function waitForStatus(portId: string | undefined, status: string | undefined): Promise<void> {
  await eventually(
    async () => {
      const nics = (await control.status()).nodes.flatMap(node => node.interfaces)
      assert.equal(nics.find(nic => nic.portId === portId)?.status, status)
    },
    { within: 90_000, every: 100 },
  )
}
